import { join } from "node:path";
import { UserError } from "../base/user_error.ts";
import { hashFile, isSameChecksum, startHash } from "./checksum.ts";
import type { WantedFile } from "./listing.ts";
import { type Manifest, modifiedTime } from "./manifest.ts";

/**
 * What lies where a file is to go: nothing; the file, recorded or not; or one that an earlier call fetched
 * from another commit, which may be replaced.
 */
export type FileState = "missing" | "complete" | "complete, not recorded" | "outdated";

/**
 * Compares what is on the disk with what is wanted. A file that is as the manifest says is not read.
 *
 * @throws UserError when something else lies there, which is not ours to replace
 */
export async function inspectFile(
  folder: string,
  file: WantedFile,
  manifest: Manifest,
  signal: AbortSignal,
): Promise<FileState> {
  const path = join(folder, file.path);
  const found = stat(path);
  if (found === null) return "missing";
  const recorded = manifest.file(file.path);
  if (
    recorded !== undefined && found.isFile && found.size === recorded.size &&
    modifiedTime(found) === recorded.modified
  ) {
    return isSameChecksum(recorded.checksum, file.checksum) ? "complete" : "outdated";
  }
  if (found.isFile && found.size === file.size) {
    const hash = startHash(file.checksum.algorithm, file.size);
    await hashFile(hash, path, signal);
    if (hash.digest("hex") === file.checksum.hex) return "complete, not recorded";
  }
  throw new UserError(
    `${path} is there already and is not the repository's file. Move it away, or name another ` +
      `folder with --to.`,
  );
}

function stat(path: string): Deno.FileInfo | null {
  try {
    return Deno.statSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}
