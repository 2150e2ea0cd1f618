/** Results of a GPU that the project has none of yet. */

import { join } from "node:path";
import type { DeviceInfo } from "../src/gpu/adapter.ts";
import { resultsName } from "./results_name.ts";
import { PROJECT_FOLDER } from "../src/cli/dev/project.ts";

/** Where results are that came with the program. */
export const SHIPPED_RESULTS = join(PROJECT_FOLDER, "bench/results");
/** Where those are written that may be sent in. */
export const OWN_RESULTS = ".tango/results";

/** Whose results a file has. */
export interface KnownResults {
  readonly file: string;
  readonly adapter: string | null;
  readonly engine: string | null;
}

/** What the JSON files of a folder are of. */
export function knownResults(folder: string): KnownResults[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name).filter((file) =>
    file.endsWith(".json")
  ).map((file) => {
    const { adapter, engine } = JSON.parse(Deno.readTextFileSync(join(folder, file)));
    return { file, adapter: adapter ?? null, engine: engine ?? null };
  });
}

/**
 * The file that a GPU's results should have, by its name and engine, such as `nvidia-h100-80gb-hbm3-dawn.json`.
 *
 * @returns null when they are known, or of a software driver, whose times say something of its machine alone
 */
export function missingResults(
  info: DeviceInfo,
  known: readonly KnownResults[],
): string | null {
  const { name, engine, software } = info;
  if (software) return null;
  const file = resultsName(info, engine);
  const isKnown = known.some((other) =>
    other.file === file || other.adapter === name && other.engine === engine
  );
  return isKnown ? null : file;
}

/** What to do with them, in two lines. */
export function howToSend(path: string, file: string): string {
  return `There were no results of this GPU yet; these are in ${path}. To send them in, put the file into\n` +
    `bench/results/${file} and open a pull request, or attach it to an issue of the project.`;
}
