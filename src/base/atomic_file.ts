/** Files and folders that exist whole or not at all: written beside, synced, renamed. */

import { dirname } from "node:path";

/**
 * Writes a file so that a crash or power loss at any moment leaves the old content or the new one.
 *
 * @param content text, bytes, or the consecutive pieces of a file too large for one buffer
 */
export function writeFileAtomically(
  path: string,
  content: string | Uint8Array | Iterable<Uint8Array>,
): void {
  const beside = `${path}.tmp`;
  writeFileDurably(beside, content);
  Deno.renameSync(beside, path);
  syncFolder(dirname(path));
}

/**
 * Writes a file and waits until it is on the disk. Use it inside a folder that is renamed afterwards;
 * elsewhere `writeFileAtomically`.
 */
export function writeFileDurably(
  path: string,
  content: string | Uint8Array | Iterable<Uint8Array>,
): void {
  const pieces = typeof content === "string"
    ? [new TextEncoder().encode(content)]
    : content instanceof Uint8Array
    ? [content]
    : content;
  const file = Deno.openSync(path, { write: true, create: true, truncate: true });
  try {
    for (const piece of pieces) writeAll(file, piece);
    file.syncSync();
  } finally {
    file.close();
  }
}

/**
 * Makes a folder appear whole: `fill` writes its files into a temporary folder beside it, which is then
 * synced and renamed. A folder already there is replaced.
 */
export function writeFolderAtomically(path: string, fill: (folder: string) => void): void {
  const beside = `${path}.tmp`;
  const replaced = `${path}.replaced.tmp`;
  removeIfPresent(beside);
  removeIfPresent(replaced);
  Deno.mkdirSync(beside, { recursive: true });
  fill(beside);
  syncFolder(beside);
  if (exists(path)) Deno.renameSync(path, replaced); // a folder with files cannot be renamed over
  Deno.renameSync(beside, path);
  syncFolder(dirname(path));
  removeIfPresent(replaced);
}

/** Whether anything exists at `path`. */
export function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      return false;
    }
    throw error;
  }
}

/** Removes a file or a folder with all it holds; nothing there is fine. */
export function removeIfPresent(path: string): void {
  if (exists(path)) Deno.removeSync(path, { recursive: true });
}

/** Writes all of `bytes` at the file's position; a single write may take only a part. */
export function writeAll(file: Deno.FsFile, bytes: Uint8Array): void {
  let written = 0;
  while (written < bytes.length) written += file.writeSync(bytes.subarray(written));
}

/** A rename is on the disk only once its folder is. */
function syncFolder(path: string): void {
  const folder = Deno.openSync(path, { read: true });
  try {
    folder.syncSync();
  } finally {
    folder.close();
  }
}
