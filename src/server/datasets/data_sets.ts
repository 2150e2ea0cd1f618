import { join } from "node:path";
import { exists, removeIfPresent } from "../../platform/files/atomic_file.ts";
import { checkRoom, describeDiskError } from "../../platform/files/disk.ts";
import { isDataFileName } from "../../data/files/data_paths.ts";
import { RequestProblem } from "../http/problem.ts";
import { filesIn, type FolderFile } from "../runs/folder_files.ts";

/** A folder with files of problems or examples. */
export interface StoredDataSet {
  readonly name: string;
  /** What a configuration calls it. */
  readonly path: string;
  /** Whether it is a folder, rather than a file that lies alone. */
  readonly isFolder: boolean;
  /** Whether it lies where uploads go, and may be added to and removed. */
  readonly isOwn: boolean;
  /** Those that can be read, by their paths in it. */
  readonly files: readonly FolderFile[];
}

/** Names of data sets and of their files: no folder, nothing hidden, nothing that a shell would take for an option. */
export const DATA_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/;
/** Where files arrive, to be renamed when they are whole. */
const ARRIVING = ".arriving";
/** Bytes of a file. */
export const LARGEST_UPLOAD = 2 ** 31;
/** Until the next piece of a file has come. */
const LONGEST_PAUSE_MS = 10_000;

/** Problems that come with the program. */
const SHIPPED = join("configs", "problems");

/** The data sets of the server: folders of its folder for data, and those that come with the program. */
export class DataSets {
  /** @param folder that uploads go to; made when it is needed */
  constructor(private readonly folder: string) {}

  /** By name. */
  get all(): StoredDataSet[] {
    const own = dataSetsIn(this.folder, true);
    const shipped = dataSetsIn(SHIPPED, false)
      .filter(({ name }) => !own.some((set) => set.name === name));
    return [...own, ...shipped].sort((a, b) => a.name < b.name ? -1 : 1);
  }

  /** @throws RequestProblem when there is none of that name */
  require(name: string): StoredDataSet {
    const found = this.all.find((set) => set.name === name);
    if (found) return found;
    throw new RequestProblem(404, `There is no data set ${JSON.stringify(name.slice(0, 100))}.`);
  }

  /**
   * Where a file of a data set lies, or the whole of it.
   *
   * @param file its path in the data set; null: all of them
   * @throws RequestProblem when there is no such file
   */
  placeOf(name: string, file: string | null): string {
    const { path, files, isFolder } = this.require(name);
    if (file === null) return path;
    if (files.some((one) => one.path === file)) return isFolder ? join(path, file) : path;
    const there = files.map((one) => one.path).slice(0, 20).join(", ");
    throw new RequestProblem(404, `${name} has no such file. There is ${there}.`, "file");
  }

  /**
   * Puts a file into a data set, which is made when there is none. The file is there whole, or not at all.
   *
   * @param bytes how many are announced; null: nobody says
   * @param replace whether one of that name may give way
   * @throws RequestProblem when its name is none for data, it is there already, or not all of it comes
   */
  async add(
    { name, file, bytes, replace }: {
      readonly name: string;
      readonly file: string;
      readonly bytes: number | null;
      readonly replace: boolean;
    },
    body: ReadableStream<Uint8Array>,
  ): Promise<StoredDataSet> {
    requireDataFile(file);
    const folder = join(this.folder, name);
    const path = join(folder, file);
    if (isShippedData(name)) {
      throw new RequestProblem(409, `${name} comes with the program: take another name.`, "name");
    }
    const requireFree = () => {
      if (exists(folder) && !Deno.lstatSync(folder).isDirectory) {
        throw new RequestProblem(409, `${name} is a file: take another name.`, "name");
      }
      if (!exists(path) || (replace && Deno.lstatSync(path).isFile)) return;
      throw new RequestProblem(
        409,
        `${name} has a file ${file} already: take another name, or send it with ?replace=true.`,
        "file",
      );
    };
    requireFree();
    requireSize(bytes ?? 0);
    const arriving = join(this.folder, ARRIVING);
    const beside = join(arriving, crypto.randomUUID());
    const writing = { path, bytes: bytes ?? undefined, next: "send the file again" };
    try {
      checkRoom(writing);
      Deno.mkdirSync(arriving, { recursive: true });
      await receive(body, beside, bytes);
      requireFree();
      Deno.mkdirSync(folder, { recursive: true });
      Deno.renameSync(beside, path);
    } catch (error) {
      throw describeDiskError(error, writing);
    } finally {
      removeIfPresent(beside);
    }
    return this.require(name);
  }

  /**
   * Removes a data set, or one of its files.
   *
   * @throws RequestProblem when there is none, or it came with the program
   */
  remove(name: string, file: string | null): void {
    if (!this.require(name).isOwn) {
      throw new RequestProblem(409, `${name} came with the program and stays.`);
    }
    removeIfPresent(this.placeOf(name, file));
    const folder = join(this.folder, name);
    if (exists(folder) && [...Deno.readDirSync(folder)].length === 0) Deno.removeSync(folder);
  }
}

/** Whether a data set of that name comes with the program. */
export function isShippedData(name: string): boolean {
  return dataSetsIn(SHIPPED, false).some((set) => set.name === name);
}

function dataSetsIn(folder: string, isOwn: boolean): StoredDataSet[] {
  if (!exists(folder)) return [];
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory, isFile }): StoredDataSet[] => {
    const path = join(folder, name);
    if (name.startsWith(".") || !(isDirectory || isFile)) return [];
    const found = isDirectory ? filesIn(path) : [{ path: name, bytes: Deno.statSync(path).size }];
    const files = found.filter((file) => isDataFileName(file.path));
    return files.length === 0 ? [] : [{ name, path, isFolder: isDirectory, isOwn, files }];
  });
}

function requireDataFile(file: string): void {
  if (isDataFileName(file)) return;
  throw new RequestProblem(
    422,
    `${file} is no file of data: expected a name that ends in .csv, .tsv, .jsonl, .ndjson, .json (each also ` +
      "with .gz) or .parquet.",
    "file",
  );
}

function requireSize(bytes: number): void {
  if (bytes <= LARGEST_UPLOAD) return;
  throw new RequestProblem(413, `A file has at most ${LARGEST_UPLOAD} bytes: cut it into several.`);
}

async function receive(
  body: ReadableStream<Uint8Array>,
  path: string,
  bytes: number | null,
): Promise<void> {
  using file = await Deno.open(path, { write: true, createNew: true, mode: 0o600 });
  const reader = body.getReader();
  let arrived = 0;
  try {
    for (;;) {
      const piece = await nextPiece(reader);
      if (piece === null) break;
      arrived += piece.length;
      requireSize(arrived);
      for (let written = 0; written < piece.length;) {
        written += await file.write(piece.subarray(written));
      }
    }
  } finally {
    reader.cancel().catch(() => {}); // of one that was cut off nothing is left to cancel
  }
  if (arrived !== (bytes ?? arrived) || arrived === 0) {
    throw new RequestProblem(
      400,
      `${arrived} of ${bytes ?? "some"} bytes came: send the file again.`,
    );
  }
  await file.sync();
}

/** @throws RequestProblem when it does not come in time */
async function nextPiece(
  reader: ReadableStreamDefaultReader<Uint8Array>,
): Promise<Uint8Array | null> {
  const { promise, reject } = Promise.withResolvers<never>();
  const late = `Nothing came for ${LONGEST_PAUSE_MS / 1000} s: send the file again.`;
  const timer = setTimeout(() => reject(new RequestProblem(408, late)), LONGEST_PAUSE_MS);
  try {
    const { value } = await Promise.race([reader.read(), promise]);
    return value ?? null;
  } catch (error) {
    if (error instanceof RequestProblem) throw error;
    throw new RequestProblem(400, "The connection broke off: send the file again.");
  } finally {
    clearTimeout(timer);
  }
}
