/**
 * A file system in memory, in Deno's words: the calls that `platform/system/files.ts` lends, with the same results and
 * errors as on Linux. There are no links, no permissions and no working folder but the root.
 */

import { AlreadyExists, IsADirectory, missing, noFolder, notEmpty, said } from "./file_errors.ts";
import {
  contentOf,
  type Facts,
  factsOf,
  type File,
  fileOf,
  type Folder,
  MemoryFile,
  type Opening,
  type ReadOnlyBytes,
  resize,
} from "./memory_file.ts";

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
