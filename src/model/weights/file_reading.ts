/** Reading files by ranges, with errors that name them. */

import { UserError } from "../../base/user_error.ts";
import { isMissing } from "../../platform/files/missing.ts";
import { fileErrors, type OpenFile, openSync, statSync } from "../../platform/system/files.ts";

/** Whether a path, links followed, leads to a file or folder. */
export function isReachable(path: string): boolean {
  try {
    statSync(path);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/**
 * Opening a folder would succeed, and a pipe's would wait for a writer.
 *
 * @throws UserError when something else is where a file should be
 */
export function expectFile(path: string): void {
  const { isFile, isDirectory } = statSync(path);
  if (isFile) return;
  throw new UserError(
    `${path} is ${isDirectory ? "a folder" : "a device or a pipe"}; expected a file`,
  );
}

/**
 * Opens a file.
 *
 * @throws UserError when it is missing, no file, or unreadable
 */
export function openForReading(path: string): OpenFile {
  try {
    expectFile(path);
    return openSync(path, { read: true });
  } catch (error) {
    if (error instanceof UserError) throw error;
    if (error instanceof fileErrors.NotFound) {
      throw new UserError(`There is no file ${path}. Check the path of the weights.`);
    }
    throw new UserError(`${path} cannot be read: ${(error as Error).message}`);
  }
}

/**
 * Reads the next bytes of a file.
 *
 * @throws UserError when it ends early
 */
export function readExactly(
  file: OpenFile,
  count: number,
  path: string,
): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(count);
  readInto(file, bytes, path);
  return bytes;
}

/**
 * Fills an array with the next bytes of a file.
 *
 * @throws UserError when it ends early or cannot be read
 */
export function readInto(file: OpenFile, bytes: Uint8Array, path: string): void {
  let filled = 0;
  while (filled < bytes.length) {
    const read = readSome(file, bytes.subarray(filled), path);
    if (read === null) {
      throw new UserError(
        `${path} ended early while it was read. Copy or download the file again.`,
      );
    }
    filled += read;
  }
}

function readSome(file: OpenFile, bytes: Uint8Array, path: string): number | null {
  try {
    return file.readSync(bytes);
  } catch (error) {
    throw new UserError(`${path} cannot be read: ${(error as Error).message}`);
  }
}
