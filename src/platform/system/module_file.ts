import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

/** A module of the user's that can be imported. */
export interface ModuleFile {
  /** Its path, whole. */
  readonly file: string;
  /** Runs it. @returns what it exports */
  load(): Promise<Record<string, unknown>>;
}

/**
 * The module at a path.
 *
 * @param path from the working directory
 * @returns `found` false where there is no such file
 */
export async function moduleFile(path: string): Promise<ModuleFile & { readonly found: boolean }> {
  const file = resolve(path);
  const found = await stat(file).then((about) => about.isFile(), () => false);
  return { file, found, load: () => import(pathToFileURL(file).href) };
}
