/** What lies in a comparison's folder beside the folders of its runs. */

import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { stringify } from "yaml";
import { UserError } from "../../base/user_error.ts";
import { exists, writeFileAtomically } from "../../platform/files/atomic_file.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { loadBaseConfig } from "../config/load_config.ts";
import { readYamlFile } from "../config/yaml_file.ts";
import { RunFolder } from "../store/run_folder.ts";
import { type Arm, DEFAULT_ARMS, loadArms } from "./arms.ts";

/** Paths in a comparison's folder. */
export const comparisonFiles = (path: string) => ({
  seeds: join(path, "seeds.json"),
  arms: join(path, "arms.yaml"),
  rows: join(path, "rows.jsonl"),
  table: join(path, "rows.csv"),
  results: join(path, "compare.json"),
  report: join(path, "compare.md"),
  curves: join(path, "compare.svg"),
});

/** A comparison as it is written down. */
export interface StoredComparison {
  /** The configuration without any arm's patch. */
  readonly base: TangoConfig;
  readonly arms: readonly Arm[];
  readonly seeds: readonly number[];
}

/** Whether a folder holds a comparison. */
export function isComparison(path: string): boolean {
  return exists(comparisonFiles(path).seeds);
}

/** Writes down which seeds a comparison has. */
export function writeSeeds(path: string, seeds: readonly number[]): void {
  writeFileAtomically(comparisonFiles(path).seeds, `${JSON.stringify(seeds)}\n`);
}

/**
 * The seeds of an earlier comparison.
 *
 * @throws UserError when the folder holds none
 */
export function readSeeds(path: string): number[] {
  const { seeds } = comparisonFiles(path);
  if (!isComparison(path)) {
    throw new UserError(
      `${path} holds no comparison (there is no ${seeds}). Check the folder given with --run.`,
    );
  }
  return JSON.parse(Deno.readTextFileSync(seeds));
}

/**
 * Makes the folder of a new comparison.
 *
 * @throws UserError when a run is already there, or the disk does not take it
 */
export function createComparison(path: string, { base, arms, seeds }: StoredComparison): void {
  RunFolder.create(path, base);
  const patches = Object.fromEntries(arms.map(({ name, patch }) => [name, patch]));
  writeFileAtomically(comparisonFiles(path).arms, stringify({ arms: patches }));
  writeSeeds(path, seeds);
}

/** Whether a comparison's arms are those that it has unless told. */
export function hasShippedArms(path: string): boolean {
  const { arms } = comparisonFiles(path);
  return !exists(arms) ||
    isDeepStrictEqual(readYamlFile(arms).value, readYamlFile(DEFAULT_ARMS).value);
}

/**
 * A comparison that was begun before. One from before arms had a file has the shipped baselines.
 *
 * @throws UserError when the folder holds none
 */
export function openComparison(path: string): StoredComparison {
  const seeds = readSeeds(path);
  const { arms } = comparisonFiles(path);
  const base = loadBaseConfig(RunFolder.open(path).configuration);
  return { base, arms: loadArms(exists(arms) ? arms : DEFAULT_ARMS, base), seeds };
}
