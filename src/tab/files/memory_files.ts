/**
 * A file system in memory, in Deno's words: the calls that `platform/system/files.ts` lends, with the same results and
 * errors as on Linux. There are no links, no permissions and no working folder but the root.
 */

/** Errors by their names in Deno. */
export class NotFound extends Error {
  override readonly name = "NotFound";
}
export class NotADirectory extends Error {
  override readonly name = "NotADirectory";
}
export class IsADirectory extends Error {
  override readonly name = "IsADirectory";
}
export class AlreadyExists extends Error {
  override readonly name = "AlreadyExists";
}
/** Nothing here is ever denied; who asks whether an error is one learns that it is not. */
export class PermissionDenied extends Error {
  override readonly name = "PermissionDenied";
}

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

interface File {
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

interface Folder {
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

/** A tree of files and folders. */
export class MemoryFiles {
  #count = 0;
  readonly #root: Folder;

  /** @param now milliseconds, for the times of files */
  constructor(private readonly now: () => number = Date.now) {
    this.#root = this.#newFolder();
  }

  openSync(path: string, opening: Opening = { read: true }): MemoryFile {
    const { write, append, create, createNew, truncate } = opening;
    if ((create || createNew || truncate) && !write && !append) {
      throw new TypeError("`create`, `createNew` and `truncate` require `write` or `append`");
    }
    const { folder, name, node } = this.#look(path, "open");
    if (node !== null && createNew) throw new AlreadyExists(said("File exists", 17, "open", path));
    if (node?.kind === "folder" && (write || append || create)) {
      throw new IsADirectory(said("Is a directory", 21, "open", path));
    }
    if (node === null && !create && !createNew) throw missing("open", path);
    const found = node ?? this.#put(folder, name, this.#newFile());
    if (truncate && found.kind === "file") {
      resize(found, 0);
      this.#touch(found);
    }
    return new MemoryFile(found, opening, (file) => this.#touch(file));
  }

  open(path: string, opening?: Opening): Promise<MemoryFile> {
    return Promise.try(() => this.openSync(path, opening));
  }

  readFileSync(path: string): Uint8Array<ArrayBuffer> {
    const node = this.#find(path, "open");
    const file = fileOf(node, "read");
    return new Uint8Array(contentOf(file, 0, file.size));
  }

  readTextFileSync(path: string): string {
    return new TextDecoder().decode(this.readFileSync(path));
  }

  /** Puts a file there, whole, in the place of what is there. */
  writeFileSync(path: string, bytes: Uint8Array): void {
    const file = this.openSync(path, { write: true, create: true, truncate: true });
    file.writeSync(bytes);
  }

  /** Puts a file there whose bytes lie elsewhere; its folder is made. */
  place(path: string, bytes: ReadOnlyBytes): void {
    const { folder, name } = this.#look(path, "open");
    this.#put(folder, name, { ...this.#newFile(), elsewhere: bytes, size: bytes.size });
  }

  lstatSync(path: string): Facts {
    return factsOf(this.#find(path, "stat"));
  }

  statSync(path: string): Facts {
    return factsOf(this.#find(path, "stat"));
  }

  /** What tells a file from another, and from what it was before. */
  markSync(path: string): { number: number; version: number; size: number } {
    const node = this.#find(path, "stat");
    const { size } = factsOf(node);
    return { number: node.number, version: node.kind === "file" ? node.version : 0, size };
  }

  *readDirSync(
    path: string,
  ): Generator<{ name: string; isFile: boolean; isDirectory: boolean; isSymlink: false }> {
    const node = this.#find(path, "readdir");
    if (node.kind === "file") throw noFolder("readdir", path);
    for (const [name, { kind }] of [...node.entries]) {
      yield { name, isFile: kind === "file", isDirectory: kind === "folder", isSymlink: false };
    }
  }

  mkdirSync(path: string, { recursive = false } = {}): void {
    const names = partsOf(path);
    let folder = this.#root;
    for (const [index, name] of names.entries()) {
      const node = folder.entries.get(name);
      const isLast = index === names.length - 1;
      if (node?.kind === "folder" && (recursive || !isLast)) {
        folder = node;
        continue;
      }
      if (node !== undefined && isLast) {
        throw new AlreadyExists(said("File exists", 17, "mkdir", path));
      }
      if (node !== undefined) throw noFolder("mkdir", path);
      if (!recursive && !isLast) throw missing("mkdir", path);
      folder = this.#put(folder, name, this.#newFolder());
    }
    if (names.length === 0 && !recursive) {
      throw new AlreadyExists(said("File exists", 17, "mkdir", path));
    }
  }

  removeSync(path: string, { recursive = false } = {}): void {
    const { folder, name, node } = this.#look(path, "remove");
    if (node === null) throw missing("remove", path);
    if (node.kind === "folder" && node.entries.size > 0 && !recursive) {
      throw notEmpty("remove", path);
    }
    folder.entries.delete(name);
    this.#touch(folder);
  }

  renameSync(from: string, to: string): void {
    const source = this.#look(from, "rename");
    const target = this.#look(to, "rename");
    if (source.node === null) throw missing("rename", from);
    if (target.node === source.node) return;
    if (source.node.kind === "folder") {
      if (isWithin(partsOf(to), partsOf(from))) {
        throw new TypeError(said("Invalid argument", 22, "rename", to));
      }
      if (target.node?.kind === "file") throw noFolder("rename", to);
      if (target.node !== null && target.node.entries.size > 0) throw notEmpty("rename", to);
    } else if (target.node?.kind === "folder") {
      if (isWithin(partsOf(from), partsOf(to))) throw notEmpty("rename", to);
      throw new IsADirectory(said("Is a directory", 21, "rename", to));
    }
    source.folder.entries.delete(source.name);
    this.#touch(source.folder);
    this.#put(target.folder, target.name, source.node);
  }

  truncateSync(path: string, length = 0): void {
    const node = this.#find(path, "truncate");
    if (node.kind === "folder") {
      throw new IsADirectory(said("Is a directory", 21, "truncate", path));
    }
    resize(node, length);
    this.#touch(node);
  }

  /** The path without detours; it must exist. */
  realPathSync(path: string): string {
    this.#find(path, "realpath");
    return `/${partsOf(path).join("/")}`;
  }

  /** The files below a folder, by their paths from it, in the order of their names. */
  *filesBelow(path: string): Generator<{ readonly path: string; readonly bytes: Uint8Array }> {
    for (const { name, isDirectory } of [...this.readDirSync(path)].sort(byName)) {
      const whole = `${path}/${name}`;
      if (!isDirectory) yield { path: name, bytes: this.readFileSync(whole) };
      else {for (const file of this.filesBelow(whole)) {
          yield { ...file, path: `${name}/${file.path}` };
        }}
    }
  }

  #look(path: string, doing: string): { folder: Folder; name: string; node: File | Folder | null } {
    const names = partsOf(path);
    const last = names.pop();
    if (last === undefined) return { folder: this.#root, name: "", node: this.#root };
    let folder = this.#root;
    for (const name of names) {
      const node = folder.entries.get(name);
      if (node === undefined) throw missing(doing, path);
      if (node.kind === "file") throw noFolder(doing, path);
      folder = node;
    }
    return { folder, name: last, node: folder.entries.get(last) ?? null };
  }

  #find(path: string, doing: string): File | Folder {
    const { node } = this.#look(path, doing);
    if (node === null) throw missing(doing, path);
    return node;
  }

  #put<Node extends File | Folder>(folder: Folder, name: string, node: Node): Node {
    folder.entries.set(name, node);
    this.#touch(folder);
    return node;
  }

  #touch(node: File | Folder): void {
    node.mtime = this.now();
    if (node.kind === "file") node.version++;
  }

  #newFile(): File {
    return {
      kind: "file",
      bytes: new Uint8Array(),
      size: 0,
      elsewhere: null,
      mtime: this.now(),
      number: this.#count++,
      version: 0,
    };
  }

  #newFolder(): Folder {
    return { kind: "folder", entries: new Map(), mtime: this.now(), number: this.#count++ };
  }
}

/** Names on the way from the root, without detours. */
function partsOf(path: string): string[] {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return parts;
}

const isWithin = (path: readonly string[], folder: readonly string[]) =>
  path.length > folder.length && folder.every((part, index) => part === path[index]);

const byName = (a: { name: string }, b: { name: string }) => a.name < b.name ? -1 : 1;

function fileOf(node: File | Folder, doing: string): File {
  if (node.kind === "folder") throw new IsADirectory(`Is a directory (os error 21), ${doing}`);
  return node;
}

function contentOf({ bytes, elsewhere }: File, begin: number, end: number): Uint8Array {
  return elsewhere === null ? bytes.subarray(begin, end) : elsewhere.read(begin, end);
}

/** Gives a file another length; what is new is zeros. */
function resize(file: File, size: number): void {
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

function factsOf(node: File | Folder): Facts {
  return {
    isFile: node.kind === "file",
    isDirectory: node.kind === "folder",
    isSymlink: false,
    size: node.kind === "file" ? node.size : 0,
    mtime: new Date(node.mtime),
  };
}

const said = (what: string, number: number, doing: string, path: string) =>
  `${what} (os error ${number}): ${doing} '${path}'`;
const missing = (doing: string, path: string) =>
  new NotFound(said("No such file or directory", 2, doing, path));
const noFolder = (doing: string, path: string) =>
  new NotADirectory(said("Not a directory", 20, doing, path));
const notEmpty = (doing: string, path: string) =>
  new Error(said("Directory not empty", 39, doing, path));
