/** A file in memory, and how an open one is read and written: as `Deno.FsFile` is. */

import { IsADirectory } from "./file_errors.ts";

/** What is known of a file or folder. */
export interface Facts {
  readonly isFile: boolean;
  readonly isDirectory: boolean;
  readonly isSymlink: false;
  /** Bytes; of a folder 0. */
  readonly size: number;
  readonly mtime: Date;
}

/** How a file is opened, as for `Deno.openSync`. */
export interface Opening {
  readonly read?: boolean;
  readonly write?: boolean;
  readonly append?: boolean;
  readonly create?: boolean;
  readonly createNew?: boolean;
  readonly truncate?: boolean;
}

/** Bytes that lie elsewhere and are read where they are asked for, such as those of a file of the visitor's. */
export interface ReadOnlyBytes {
  readonly size: number;
  read(begin: number, end: number): Uint8Array;
}

/** A file, opened or not. */
export interface File {
  readonly kind: "file";
  /** Room for the content, of which `size` bytes are used. */
  bytes: Uint8Array;
  size: number;
  /** In the place of `bytes`; whoever writes takes a copy first. */
  elsewhere: ReadOnlyBytes | null;
  mtime: number;
  readonly number: number;
  /** Counts what was written. */
  version: number;
}

/** A folder. */
export interface Folder {
  readonly kind: "folder";
  readonly entries: Map<string, File | Folder>;
  mtime: number;
  readonly number: number;
}

/** A file that is open. */
export class MemoryFile {
  #position = 0;

  constructor(
    private readonly node: File | Folder,
    private readonly opening: Opening,
    private readonly touched: (file: File) => void,
  ) {}

  /** Reads at the position. @returns bytes read; null at the end */
  readSync(into: Uint8Array): number | null {
    const file = fileOf(this.node, "read");
    if (into.length === 0) return 0;
    const end = Math.min(file.size, this.#position + into.length);
    if (end <= this.#position) return null;
    into.set(contentOf(file, this.#position, end));
    const read = end - this.#position;
    this.#position = end;
    return read;
  }

  /** Writes at the position, or at the end of a file that is appended to. @returns bytes written: all */
  writeSync(bytes: Uint8Array): number {
    const file = fileOf(this.node, "write");
    if (!this.opening.write && !this.opening.append) {
      throw new Error("Bad file descriptor (os error 9)");
    }
    if (bytes.length === 0) return 0;
    if (this.opening.append) this.#position = file.size;
    const end = this.#position + bytes.length;
    resize(file, Math.max(file.size, end));
    file.bytes.set(bytes, this.#position);
    this.#position = end;
    this.touched(file);
    return bytes.length;
  }

  /** As `readSync`. */
  read(into: Uint8Array): Promise<number | null> {
    return Promise.try(() => this.readSync(into));
  }

  /** As `writeSync`. */
  write(bytes: Uint8Array): Promise<number> {
    return Promise.try(() => this.writeSync(bytes));
  }

  /** @param whence 0: from the beginning, 1: from where it is, 2: from the end. @returns the new position */
  seekSync(offset: number, whence: number): number {
    const from = whence === 0 ? 0 : whence === 1 ? this.#position : factsOf(this.node).size;
    if (from + offset < 0) throw new TypeError("Invalid argument (os error 22)");
    return this.#position = from + offset;
  }

  statSync(): Facts {
    return factsOf(this.node);
  }

  /** Memory has no disk to wait for. */
  syncSync(): void {}

  sync(): Promise<void> {
    return Promise.resolve();
  }

  close(): void {}

  [Symbol.dispose](): void {}
}

export function fileOf(node: File | Folder, doing: string): File {
  if (node.kind === "folder") throw new IsADirectory(`Is a directory (os error 21), ${doing}`);
  return node;
}

export function contentOf({ bytes, elsewhere }: File, begin: number, end: number): Uint8Array {
  return elsewhere === null ? bytes.subarray(begin, end) : elsewhere.read(begin, end);
}

/** Gives a file another length; what is new is zeros. */
export function resize(file: File, size: number): void {
  const kept = Math.min(size, file.size);
  if (file.elsewhere !== null || size > file.bytes.length) {
    const room = new Uint8Array(size > file.bytes.length ? Math.max(size, 2 * file.size) : size);
    room.set(contentOf(file, 0, kept));
    file.bytes = room;
    file.elsewhere = null;
  }
  file.bytes.fill(0, kept, file.size);
  file.size = size;
}

export function factsOf(node: File | Folder): Facts {
  return {
    isFile: node.kind === "file",
    isDirectory: node.kind === "folder",
    isSymlink: false,
    size: node.kind === "file" ? node.size : 0,
    mtime: new Date(node.mtime),
  };
}
