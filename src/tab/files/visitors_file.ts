import type { ReadOnlyBytes } from "./memory_file.ts";

/** A file that a visitor chose, of which a worker reads what is asked for and holds nothing. */
export function visitorsFile(file: File): ReadOnlyBytes {
  const reader = new FileReaderSync();
  return {
    size: file.size,
    read: (begin, end) => new Uint8Array(reader.readAsArrayBuffer(file.slice(begin, end))),
  };
}

/** What workers have to read files at once; not among the types of pages. */
declare class FileReaderSync {
  readAsArrayBuffer(blob: Blob): ArrayBuffer;
}
