import { basename, sep } from "node:path";
import { UserError } from "../../base/user_error.ts";

/** Endings of the files that can be read; those of text may have `.gz` after them. */
const TEXT_ENDINGS = [".jsonl", ".ndjson", ".json", ".csv", ".tsv"] as const;
const ENDINGS: readonly string[] = [
  ...TEXT_ENDINGS,
  ...TEXT_ENDINGS.map((ending) => `${ending}.gz`),
  ".parquet",
];

/** Files that libraries write beside the data they save: about the rows, not of rows. */
const DESCRIPTIONS = new Set([
  "dataset_dict.json",
  "dataset_info.json",
  "dataset_infos.json",
  "state.json",
]);

/** A file to read rows from. */
export interface DataFile {
  readonly path: string;
  /** The ending without `.gz`, in lower case: what the file holds. */
  readonly ending: string;
  readonly isCompressed: boolean;
  /** See `Place.defaultSource`. */
  readonly defaultSource: string;
}

/**
 * The data files at a path: the file itself, or all in the directory and those below it, sorted by path.
 * Hidden files, other endings and dataset_info.json and the like are passed over.
 *
 * Throws a UserError when there is nothing at the path, nothing to read in it, or the ending is unknown.
 */
export async function findDataFiles(path: string): Promise<DataFile[]> {
  const isDirectory = (await stat(path)).isDirectory;
  if (!isDirectory) {
    const file = dataFile(path, baseName(path).replace(/(\.[a-z]+)(\.gz)?$/i, ""));
    if (file) return [file];
    throw new UserError(
      `${path}: expected a file that ends in ${ENDINGS.join(", ")}. Rename or convert it.`,
    );
  }
  const root = path.replace(/(?<=.)\/+$/, "");
  const files: DataFile[] = [];
  await collect(root, "", baseName(await Deno.realPath(root)), files, new Set());
  if (files.length === 0) {
    throw new UserError(
      `${path}: found no data file in this directory or below it; expected files that end in ` +
        `${ENDINGS.join(", ")}.`,
    );
  }
  return files.sort((a, b) => a.path < b.path ? -1 : 1);
}

async function collect(
  directory: string,
  relative: string,
  source: string,
  files: DataFile[],
  seen: Set<string>,
): Promise<void> {
  // Links are followed, as the Hugging Face cache is made of them; one could lead back to here.
  const real = await Deno.realPath(directory);
  if (seen.has(real)) return;
  seen.add(real);
  for await (const entry of Deno.readDir(directory)) {
    if (entry.name.startsWith(".") || DESCRIPTIONS.has(entry.name)) continue;
    const path = `${directory}/${entry.name}`;
    const file = dataFile(path, source);
    if (!file && entry.isFile) continue;
    const isDirectory = entry.isSymlink ? (await stat(path)).isDirectory : entry.isDirectory;
    if (isDirectory) {
      const below = relative === "" ? entry.name : `${relative}/${entry.name}`;
      await collect(path, below, below, files, seen);
    } else if (file) files.push(file);
  }
}

function dataFile(path: string, defaultSource: string): DataFile | null {
  const lower = path.toLowerCase();
  const ending = ENDINGS.findLast((candidate) => lower.endsWith(candidate));
  if (ending === undefined) return null;
  const isCompressed = ending.endsWith(".gz");
  return {
    path,
    ending: isCompressed ? ending.slice(0, -".gz".length) : ending,
    isCompressed,
    defaultSource,
  };
}

function baseName(path: string): string {
  return basename(path) || path;
}

async function stat(path: string): Promise<Deno.FileInfo> {
  try {
    return await Deno.stat(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw readError(path, error);
    throw new UserError(
      `${path}: there is no such file or directory (looked from ${Deno.cwd()}). Check the path.`,
    );
  }
}

/** Whether a folder's reader takes the file of this path in it: known ending, not hidden, not a description. */
export function isDataFileName(path: string): boolean {
  return !path.replaceAll(sep, "/").split("/").some((name) => name.startsWith(".")) &&
    !DESCRIPTIONS.has(baseName(path)) && dataFile(path, "") !== null;
}

/** The system's error on reading a file, as a message to the user. */
export function readError(path: string, error: unknown): UserError {
  const reason = error instanceof Error ? error.message : String(error);
  return new UserError(`${path}: cannot be read: ${reason}`);
}
