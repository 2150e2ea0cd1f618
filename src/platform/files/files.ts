/** The file system, in Deno's words: what reads and writes files below the runs takes it from here. */

/** A file that is open. */
export type OpenFile = Deno.FsFile;

export const {
  errors: fileErrors,
  openSync,
  readTextFileSync,
  realPathSync,
  SeekMode,
  statSync,
} = Deno;
