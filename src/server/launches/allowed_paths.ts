import { dirname, join, resolve } from "node:path";
import { UserError } from "../../base/user_error.ts";

/** Keys of a configuration whose value is a path of a file or a folder. */
const PATH_KEYS: readonly string[] = [
  ...["model", "initial_model", "output_directory", "prompt_template", "path"],
];
/** Those whose value is a program that the run will execute. */
const CODE_KEYS: readonly string[] = ["module"];

/** Where the paths of a configuration that came over the network may lead. */
export interface AllowedFolders {
  /** What is read and written: models, data and runs. */
  readonly files: readonly string[];
  /** What is executed; nothing that the server or its runs write may lie in them. */
  readonly code: readonly string[];
}

/**
 * Checks that a configuration that came over the network names no file outside of some folders.
 *
 * @throws UserError with a line for each key that does
 */
export function requireAllowedPaths(configuration: unknown, { files, code }: AllowedFolders): void {
  const outside = pathsOf(configuration, "").flatMap(({ key, path, isCode }) => {
    const folders = isCode ? code : files;
    if (isAllowed(path, folders)) return [];
    return [
      `${key} is ${JSON.stringify(path)}; expected a path in one of ${folders.join(", ")}. ` +
      `./tango serve --allow FOLDER allows others.`,
    ];
  });
  if (outside.length > 0) throw new UserError(outside.join("\n"));
}

/** Whether a path leads into one of some folders, whatever links there are. */
export function isAllowed(path: string, folders: readonly string[]): boolean {
  const real = realPath(path);
  return folders.map(realPath).some((root) => real === root || real.startsWith(`${root}/`));
}

interface NamedPath {
  readonly key: string;
  readonly path: string;
  readonly isCode: boolean;
}

function pathsOf(value: unknown, place: string): NamedPath[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const key = place === ""
      ? name
      : Array.isArray(value)
      ? `${place}[${name}]`
      : `${place}.${name}`;
    const isCode = CODE_KEYS.includes(name);
    if (typeof inner === "string" && (isCode || PATH_KEYS.includes(name))) {
      return [{ key, path: inner, isCode }];
    }
    return pathsOf(inner, key);
  });
}

/** A path without links, also of what is not there yet. */
function realPath(path: string): string {
  const whole = resolve(path);
  try {
    return Deno.realPathSync(whole);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound) || whole === dirname(whole)) return whole;
    return join(realPath(dirname(whole)), whole.slice(dirname(whole).length));
  }
}
