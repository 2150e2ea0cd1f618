/** The file system of a tab: one in memory, which the tab keeps elsewhere when it likes. */

import {
  AlreadyExists,
  IsADirectory,
  NotADirectory,
  NotFound,
  PermissionDenied,
} from "../../../files/file_errors.ts";
import type { MemoryFile } from "../../../files/memory_file.ts";
import { MemoryFiles } from "../../../files/memory_files.ts";

/** The files of this worker. */
export const files = new MemoryFiles();

/** Memory has no file system that tells its room. */
export const statfsSync = () => ({ blocks: 0, bavail: 0, bsize: 1 });

/** As node's, with what `fileMark` asks of it. */
export function exactStatSync(path: string) {
  const { number, version, size } = files.markSync(path);
  return { ino: number, size, mtimeNs: version, ctimeNs: version };
}

export type OpenFile = MemoryFile;

export const fileErrors = {
  NotFound,
  NotADirectory,
  IsADirectory,
  AlreadyExists,
  PermissionDenied,
};

export const SeekMode = { Start: 0, Current: 1, End: 2 } as const;

export const openSync = files.openSync.bind(files);
export const openFile = files.open.bind(files);
export const lstatSync = files.lstatSync.bind(files);
export const mkdirSync = files.mkdirSync.bind(files);
export const readDirSync = files.readDirSync.bind(files);
export const readFileSync = files.readFileSync.bind(files);
export const readTextFileSync = files.readTextFileSync.bind(files);
export const realPathSync = files.realPathSync.bind(files);
export const removeSync = files.removeSync.bind(files);
export const renameSync = files.renameSync.bind(files);
export const statSync = files.statSync.bind(files);
export const truncateSync = files.truncateSync.bind(files);
