/** Files and folders that exist whole or not at all: written beside, synced, renamed. */

import {
  lstatSync,
  mkdirSync,
  type OpenFile,
  openFile,
  openSync,
  removeSync,
  renameSync,
} from "../system/files.ts";
import { system } from "../system/machine.ts";
import { dirname } from "../system/paths.ts";
import { checkRoom, describeDiskError, type Writing } from "./disk.ts";
import { isMissing } from "./missing.ts";

/**
 * Writes a file so that a crash or power loss at any moment leaves the old content or the new one.
 *
 * @param next what to do when the disk did not take it; see `Writing`
 * @throws UserError when the disk does not take it; the old content then stays
 */
export function writeFileAtomically(
  path: string,
  content: string,
  next = "run the command again",
): void {
  const beside = `${path}.tmp`;
  try {
    writeFileDurably(beside, content);
    putInPlace(beside, path);
  } catch (error) {
    removeIfPresent(beside);
    throw describeDiskError(error, { path, next });
  }
}

/**
 * Writes a file and waits until it is on the disk. Use it inside a folder that is renamed afterwards;
 * elsewhere `writeFileAtomically`.
 */
export function writeFileDurably(path: string, content: string): void {
  using file = openSync(path, { write: true, create: true, truncate: true });
  writeAll(file, new TextEncoder().encode(content));
  file.syncSync();
}

/**
 * Writes a file that comes in pieces, each written before the next is asked for, and waits until it is on
 * the disk. As `writeFileDurably`, for the inside of a folder.
 */
export async function writePiecesDurably(
  path: string,
  pieces: AsyncIterable<Uint8Array>,
): Promise<void> {
  using file = await openFile(path, { write: true, create: true, truncate: true });
  for await (const piece of pieces) {
    let written = 0;
    while (written < piece.length) written += await file.write(piece.subarray(written));
  }
  await file.sync();
}

/**
 * Makes a file that comes in pieces appear whole; one that is there already is replaced.
 *
 * @throws UserError when there is no room for it or the disk does not take it; nothing of it then stays,
 *   and what was there before does
 */
export async function writePiecesAtomically(
  writing: Writing,
  pieces: AsyncIterable<Uint8Array>,
): Promise<void> {
  const { path } = writing;
  const beside = `${path}.tmp`;
  try {
    checkRoom(writing);
    mkdirSync(dirname(path), { recursive: true });
    await writePiecesDurably(beside, pieces);
    putInPlace(beside, path);
  } catch (error) {
    removeIfPresent(beside);
    throw describeDiskError(error, writing);
  }
}

/**
 * Makes a folder appear whole: `fill` writes its files into a temporary folder beside it, which is then
 * synced and renamed. A folder already there is replaced.
 *
 * @throws UserError when there is no room for it or the disk does not take it; nothing of it then stays,
 *   and what was there before does
 */
export async function writeFolderAtomically(
  writing: Writing,
  fill: (folder: string) => Promise<void>,
): Promise<void> {
  const { path } = writing;
  const { beside, replaced } = placesOf(path);
  try {
    finishReplacing(path);
    removeIfPresent(beside);
    checkRoom(writing);
    mkdirSync(beside, { recursive: true });
    try {
      await fill(beside);
      syncFolder(beside);
    } catch (error) {
      removeIfPresent(beside);
      throw error;
    }
    if (exists(path)) renameSync(path, replaced); // a folder with files cannot be renamed over
    renameSync(beside, path);
    syncFolder(dirname(path));
    removeIfPresent(replaced);
  } catch (error) {
    throw describeDiskError(error, writing);
  }
}

/** Paths at which a folder is filled, and at which the one that it replaces lies meanwhile. */
const placesOf = (path: string) => ({ beside: `${path}.tmp`, replaced: `${path}.replaced.tmp` });

/** Ends what a crash cut off between the renames: by then the new folder is whole. */
function finishReplacing(path: string): void {
  const { beside, replaced } = placesOf(path);
  if (!exists(replaced)) return;
  if (!exists(path)) renameSync(exists(beside) ? beside : replaced, path);
  removeIfPresent(replaced);
}

/** Whether anything exists at `path`. */
export function exists(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/** Removes a file or a folder with all it holds; nothing there is fine. */
export function removeIfPresent(path: string): void {
  if (exists(path)) removeSync(path, { recursive: true });
}

/** Writes all of `bytes` at the file's position; a single write may take only a part. */
export function writeAll(file: Pick<OpenFile, "writeSync">, bytes: Uint8Array): void {
  let written = 0;
  while (written < bytes.length) written += file.writeSync(bytes.subarray(written));
}

/** Gives a file that is whole the name of the one that it replaces. */
function putInPlace(beside: string, path: string): void {
  renameSync(beside, path);
  syncFolder(dirname(path));
}

/** A rename is on the disk only once its folder is; Windows opens no folders, and keeps a journal of renames. */
function syncFolder(path: string): void {
  if (system === "windows") return;
  const folder = openSync(path, { read: true });
  try {
    folder.syncSync();
  } finally {
    folder.close();
  }
}
