import { dirname, join, resolve } from "node:path";
import { UserError } from "../../base/user_error.ts";

/** Keys of a configuration whose value is a path of a file or a folder. */
const PATH_KEYS: readonly string[] = [
  ...["model", "initial_model", "output_directory", "prompt_template", "module", "path"],
];

/**
 * Checks that a configuration that came over the network names no file outside the folders of models, data and runs.
 *
 * @param folders that may be read and written
 * @throws UserError naming the key
 */
export function requireAllowedPaths(configuration: unknown, folders: readonly string[]): void {
  const roots = folders.map(realPath);
  for (const { key, path } of pathsOf(configuration, "")) {
    const real = realPath(path);
    if (roots.some((root) => real === root || real.startsWith(`${root}/`))) continue;
    throw new UserError(
      `${key} is ${JSON.stringify(path)}; expected a path in one of ${folders.join(", ")}. ` +
        `./tango serve --allow FOLDER allows others.`,
    );
  }
}

function pathsOf(value: unknown, place: string): { readonly key: string; readonly path: string }[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const key = place === ""
      ? name
      : Array.isArray(value)
      ? `${place}[${name}]`
      : `${place}.${name}`;
    if (typeof inner === "string" && PATH_KEYS.includes(name)) return [{ key, path: inner }];
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
