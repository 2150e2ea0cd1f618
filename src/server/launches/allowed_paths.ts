import { basename, dirname, join, resolve } from "node:path";
import { UserError } from "../../base/user_error.ts";

/** Keys of a configuration whose value is a path of a file or a folder that is read. */
const READ_KEYS: readonly string[] = [
  "model",
  "initial_model",
  "tokenizer",
  "prompt_template",
  "path",
];
/** Those whose value is a folder that the run will write. */
const WRITTEN_KEYS: readonly string[] = ["output_directory"];
/** Those whose value is a program that the run will execute. */
const CODE_KEYS: readonly string[] = ["module"];

/** Where the paths of a configuration that came over the network may lead. */
export interface AllowedFolders {
  /** What is read and written: models, data and runs. Nothing there is executed. */
  readonly files: readonly string[];
  /**
   * What is executed. Nothing there is written. Of folders inside one another the inner one decides; a folder of both
   * lists is read and executed.
   */
  readonly code: readonly string[];
}

/**
 * Checks that a configuration that came over the network reads and writes only where it may, and executes only what
 * neither a run nor the server can have written.
 *
 * @throws UserError with a line for each key that does
 */
export function requireAllowedPaths(configuration: unknown, folders: AllowedFolders): void {
  const problems = pathsOf(configuration, "").flatMap(({ name, key, path }) => {
    const problem = CODE_KEYS.includes(name)
      ? codeProblem(path, folders)
      : fileProblem(path, folders, WRITTEN_KEYS.includes(name));
    return problem === null ? [] : [`${key} is ${JSON.stringify(path)}; ${problem}`];
  });
  if (problems.length > 0) throw new UserError(problems.join("\n"));
}

function codeProblem(path: string, folders: AllowedFolders): string | null {
  if (isCode(path, folders)) return null;
  return `expected a module in one of ${folders.code.join(", ") || "no folders"}, and outside of ` +
    `folders of models, data and runs. ./tango serve --allow-code FOLDER allows others.`;
}

function fileProblem(path: string, folders: AllowedFolders, isWritten: boolean): string | null {
  if (!isAllowed(path, folders.files)) {
    return `expected a path in one of ${folders.files.join(", ")}. ` +
      `./tango serve --allow FOLDER allows others.`;
  }
  if (!isWritten || !isCode(path, folders)) return null;
  return `expected a folder outside of ${folders.code.join(", ")}, where programs are that runs ` +
    `execute.`;
}

/** Whether a path leads into one of some folders, whatever links there are. */
export function isAllowed(path: string, folders: readonly string[]): boolean {
  return innermost(path, folders) !== null;
}

/** Whether a run may execute what lies at a path. */
function isCode(path: string, { files, code }: AllowedFolders): boolean {
  const folder = innermost(path, code);
  // Of two that the path lies in, the longer one is inside the other.
  return folder !== null && folder.length >= (innermost(path, files)?.length ?? 0);
}

/** The innermost of the folders that a path leads into, without links; null when it leads into none. */
function innermost(path: string, folders: readonly string[]): string | null {
  const real = realPath(path);
  if (real === null) return null;
  const [found] = folders.map(realPath)
    .filter((root) => root !== null)
    .filter((root) => real === root || real.startsWith(join(root, "/")))
    .sort((a, b) => b.length - a.length);
  return found ?? null;
}

/** The paths that a configuration names, each by its key, and whether a run by it reads what is there. */
export function namedPaths(
  configuration: unknown,
): { readonly key: string; readonly path: string; readonly isRead: boolean }[] {
  return pathsOf(configuration, "").map(({ name, key, path }) => (
    { key, path, isRead: !WRITTEN_KEYS.includes(name) }
  ));
}

interface NamedPath {
  /** The last part of its key. */
  readonly name: string;
  readonly key: string;
  readonly path: string;
}

function pathsOf(value: unknown, place: string): NamedPath[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const key = place === ""
      ? name
      : Array.isArray(value)
      ? `${place}[${name}]`
      : `${place}.${name}`;
    const isPath = [READ_KEYS, WRITTEN_KEYS, CODE_KEYS].some((names) => names.includes(name));
    return typeof inner === "string" && isPath ? [{ name, key, path: inner }] : pathsOf(inner, key);
  });
}

/** A path without links, also of what is not there yet; null when that cannot be told. */
function realPath(path: string): string | null {
  const whole = resolve(path);
  try {
    return Deno.realPathSync(whole);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound) || isLink(whole)) return null;
    const parent = realPath(dirname(whole));
    return parent === null ? null : join(parent, basename(whole));
  }
}

/** Whether there is a link, which then leads to nothing. */
function isLink(path: string): boolean {
  try {
    return Deno.lstatSync(path).isSymlink;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
