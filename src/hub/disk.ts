/** Room on the disk, and what the system says against writing. */

import { dirname, join, resolve } from "node:path";
import { statfsSync } from "node:fs";
import { UserError } from "../base/user_error.ts";
import { exists } from "../base/atomic_file.ts";
import { formatBytes } from "../base/format_bytes.ts";

/**
 * Checks that a folder, which need not exist yet, can take so many bytes more.
 *
 * @throws UserError when it cannot
 */
export function checkRoom(folder: string, bytes: number): void {
  let place = resolve(folder);
  while (!exists(place)) place = dirname(place);
  const { bavail, bsize } = statfsSync(place);
  const free = bavail * bsize;
  if (bytes > free) {
    throw new UserError(
      `${folder}: ${formatBytes(bytes)} are to be fetched and ${
        formatBytes(free)
      } are free on that ` +
        `disk. Make room, or name a folder on another disk with --to.`,
    );
  }
}

/** Removes a folder that holds nothing but empty folders; others stay, without the empty ones. */
export function removeEmptyFolders(folder: string): void {
  if (!exists(folder)) return;
  for (const entry of Deno.readDirSync(folder)) {
    if (entry.isDirectory) removeEmptyFolders(join(folder, entry.name));
  }
  if (Deno.readDirSync(folder).next().done) Deno.removeSync(folder);
}

/** A system's refusal to write as a message to the user; other errors as they are. */
export function describeDiskError(error: unknown, folder: string): unknown {
  if (!(error instanceof Error)) return error;
  if ((error as { code?: unknown }).code === "ENOSPC" || /\bos error 28\b/.test(error.message)) {
    return new UserError(
      `${folder}: the disk is full. Make room and run the command again; it goes on where it stopped.`,
    );
  }
  const { PermissionDenied, NotADirectory, AlreadyExists, IsADirectory } = Deno.errors;
  const kinds = [PermissionDenied, NotADirectory, AlreadyExists, IsADirectory];
  return kinds.some((kind) => error instanceof kind)
    ? new UserError(
      `${folder} cannot be written: ${error.message}. Name another folder with --to.`,
    )
    : error;
}
