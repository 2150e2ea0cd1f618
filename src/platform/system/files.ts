/** The file system, in Deno's words: what reads and writes files takes it from here. */

/** Room on a file system, and of a file what tells it from another, to the nanosecond. */
export { statfsSync, statSync as exactStatSync } from "node:fs";

/** A file that is open. */
export type OpenFile = Deno.FsFile;

export const {
  errors: fileErrors,
  lstatSync,
  mkdirSync,
  open: openFile,
  openSync,
  readDirSync,
  readFileSync,
  readTextFileSync,
  realPathSync,
  removeSync,
  renameSync,
  SeekMode,
  statSync,
  truncateSync,
} = Deno;
