/** The list of a repository's files as the Hub gives it, and what is asked of a file to be fetched. */

import { z } from "zod";
import { UserError } from "../base/user_error.ts";
import type { Checksum } from "./checksum.ts";
import { MANIFEST_NAME, PART_ENDING } from "./names.ts";
import type { Repository } from "./repository.ts";

/** A file as it is listed. */
export interface ListedFile {
  /** Path with `/` between folders, as the server wrote it: unchecked. */
  readonly path: string;
  readonly size: number | null;
  readonly checksum: Checksum | null;
}

/** A file that may be fetched: its path stays inside the folder, its content can be checked. */
export interface WantedFile {
  readonly path: string;
  readonly size: number;
  readonly checksum: Checksum;
}

/** A repository at one commit. */
export interface Listing {
  readonly repository: Repository;
  readonly commit: string;
  readonly files: readonly ListedFile[];
}

const byteCount = z.number().int().nonnegative();
const schema = z.object({
  sha: z.string().regex(/^[0-9a-f]{40,64}$/),
  siblings: z.array(z.object({
    rfilename: z.string(),
    size: byteCount.nullish(),
    blobId: z.string().nullish(),
    lfs: z.object({ size: byteCount, sha256: z.string() }).nullish(),
  })),
});

/** From this many files on, the Hub may leave some out of the list. */
const LARGEST_LISTING = 50_000;

/** @throws UserError when the answer is not a listing, or one that may not be complete */
export function parseListing(json: unknown, repository: Repository, endpoint: string): Listing {
  const parsed = schema.safeParse(json);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new UserError(
      `${endpoint} answered something else than the files of ${repository.id} ` +
        `(${issue.path.join(".") || "answer"}: ${issue.message}). Is HF_ENDPOINT right?`,
    );
  }
  const { sha: commit, siblings } = parsed.data;
  if (siblings.length >= LARGEST_LISTING) {
    throw new UserError(
      `${repository.id} has ${LARGEST_LISTING} files or more, which the Hub does not list ` +
        `completely; fetch it with git.`,
    );
  }
  const files = siblings.map(({ rfilename, size, blobId, lfs }) => ({
    path: rfilename,
    size: lfs?.size ?? size ?? null,
    checksum: lfs ? checksum("sha256", lfs.sha256, 64) : checksum("git-sha1", blobId, 40),
  }));
  return { repository, commit, files };
}

function checksum(
  algorithm: Checksum["algorithm"],
  hex: string | null | undefined,
  length: number,
): Checksum | null {
  const isHash = hex?.length === length && /^[0-9a-f]+$/i.test(hex);
  return isHash ? { algorithm, hex: hex.toLowerCase() } : null;
}

/** Names of scripts and other programs. */
const PROGRAM =
  /\.(?:[cm]?[jt]sx?|wasm|node|py|pyc|ipynb|sh|bash|zsh|bat|cmd|ps1|rb|pl|php|lua|so|dylib|dll|exe)$/i;

/**
 * Checks that a listed file can be fetched.
 *
 * @throws UserError when its path leaves the folder, it is a program, or its size or hash is not told
 */
export function checkListedFile(file: ListedFile, { id }: Repository): WantedFile {
  const { path, size, checksum } = file;
  const segments = path.split("/");
  // deno-lint-ignore no-control-regex -- they have no place in a name
  const isPlain = !/[\\\x00-\x1f\x7f]/.test(path) &&
    segments.every((segment) => segment !== "" && segment !== "." && segment !== "..");
  if (!isPlain) {
    throw new UserError(
      `${id} lists a file ${JSON.stringify(path)}, which would lie outside the folder; ` +
        `nothing was fetched.`,
    );
  }
  if (segments.at(-1) === MANIFEST_NAME || path.endsWith(PART_ENDING)) {
    throw new UserError(
      `${id} lists a file ${path}; that name is kept for what is being fetched. ` +
        `Leave the file out with --file.`,
    );
  }
  if (PROGRAM.test(path)) {
    throw new UserError(
      `${id} lists a program ${path}; only data is fetched, since what is fetched is never run. ` +
        `Leave the file out with --file.`,
    );
  }
  if (size === null || checksum === null) {
    throw new UserError(
      `The list of ${id} lacks the size or the hash of ${path}, so it could not be checked. ` +
        `HF_ENDPOINT must answer ?blobs=true as https://huggingface.co does.`,
    );
  }
  return { path, size, checksum };
}
