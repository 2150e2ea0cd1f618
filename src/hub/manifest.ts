/** What is known of a folder's fetched files, kept beside them: where from, which commit, which hash. */

import { join } from "node:path";
import { z } from "zod";
import { UserError } from "../base/user_error.ts";
import { exists, writeFileAtomically } from "../platform/files/atomic_file.ts";
import type { Checksum } from "./checksum.ts";
import type { WantedFile } from "./listing.ts";
import { MANIFEST_NAME } from "./names.ts";
import { type Repository, shortName } from "./repository.ts";

const checksumSchema = z.object({ algorithm: z.enum(["sha256", "git-sha1"]), hex: z.string() });
const schema = z.object({
  kind: z.enum(["model", "dataset"]),
  repository: z.string(),
  /** Revision that the last call asked for. */
  revision: z.string(),
  commit: z.string(),
  files: z.record(
    z.string(),
    z.object({
      size: z.number(),
      /** Time of the last change, so that one made by somebody else is seen. */
      modified: z.string(),
      checksum: checksumSchema,
      commit: z.string(),
    }),
  ),
  /** Files begun and not complete; the ETag lets the server say whether its file is the same still. */
  parts: z.record(
    z.string(),
    z.object({ checksum: checksumSchema, etag: z.string().nullable() }),
  ),
});

/** A complete file as it was when it had been checked. */
export type PulledFile = z.infer<typeof schema>["files"][string];
/** A file that was begun. */
export type BegunFile = z.infer<typeof schema>["parts"][string];

/** The manifest of one folder. What `keep…` changes is on the disk when it returns. */
export class Manifest {
  private constructor(
    private readonly folder: string,
    private readonly repository: Repository,
    private readonly content: z.infer<typeof schema>,
  ) {}

  /**
   * Opens a folder's manifest, or begins one without writing it.
   *
   * @throws UserError when the folder holds another repository or its manifest cannot be read
   */
  static open(folder: string, repository: Repository): Manifest {
    const { kind, id } = repository;
    const none = { kind, repository: id, revision: "", commit: "", files: {}, parts: {} };
    return new Manifest(folder, repository, contentOf(folder, repository) ?? none);
  }

  file(path: string): PulledFile | undefined {
    return Object.hasOwn(this.content.files, path) ? this.content.files[path] : undefined;
  }

  part(path: string): BegunFile | undefined {
    return Object.hasOwn(this.content.parts, path) ? this.content.parts[path] : undefined;
  }

  /** Says which revision is fetched and what it stands for. Written with the next change or `keep`. */
  beginCommit(revision: string, commit: string): void {
    Object.assign(this.content, { revision, commit });
  }

  /** Keeps that a file is complete and checked, as it lies on the disk now. */
  keepFile({ path, size, checksum }: WantedFile): void {
    const modified = modifiedTime(Deno.statSync(join(this.folder, path)));
    const { commit } = this.content;
    this.content.files[path] = { size, modified, checksum, commit };
    delete this.content.parts[path];
    this.keep();
  }

  /** Keeps what has been begun, so that a later call can go on. */
  keepPart(path: string, checksum: Checksum, etag: string | null): void {
    this.content.parts[path] = { checksum, etag };
    this.keep();
  }

  /**
   * Writes it as it is.
   *
   * @throws UserError when another repository's has come meanwhile
   */
  keep(): void {
    contentOf(this.folder, this.repository);
    const text = JSON.stringify(this.content, null, 2) + "\n";
    writeFileAtomically(join(this.folder, MANIFEST_NAME), text);
  }
}

/**
 * The folder that a repository is fetched into unless the user names one: by its name, or by its owner too where the
 * name is another owner's.
 *
 * @param isTaken whether another one is going to a folder
 */
export function folderFor(
  repository: Repository,
  parent: string,
  isTaken: (folder: string) => boolean = () => false,
): string {
  const short = join(parent, shortName(repository));
  const content = read(short);
  const isFree = (content === null || isOf(content, repository)) && !isTaken(short);
  return isFree ? short : join(parent, repository.id);
}

function isOf(content: z.infer<typeof schema>, { kind, id }: Repository): boolean {
  return content.kind === kind && content.repository === id;
}

/** @throws UserError when the folder holds another repository */
function contentOf(folder: string, repository: Repository): z.infer<typeof schema> | null {
  const content = read(folder);
  if (content === null || isOf(content, repository)) return content;
  throw new UserError(
    `${folder} holds the ${content.kind} ${content.repository}; name another folder for the ` +
      `${repository.kind} ${repository.id} with --to.`,
  );
}

/** When a file was changed last, to the millisecond. */
export function modifiedTime(information: Deno.FileInfo): string {
  return information.mtime?.toISOString() ?? "unknown";
}

/** Contents of a folder's manifest; null when it has none. */
function read(folder: string): z.infer<typeof schema> | null {
  const path = join(folder, MANIFEST_NAME);
  if (!exists(path)) return null;
  let json: unknown = null;
  try {
    json = JSON.parse(Deno.readTextFileSync(path));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  const { data } = schema.safeParse(json);
  if (data === undefined) {
    throw new UserError(
      `${path} is not what ./tango pull writes. Remove it; the next call then checks the files by ` +
        `their hashes.`,
    );
  }
  return data;
}
