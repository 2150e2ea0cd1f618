/** A comparison: every arm from the same configuration, over the same seeds. */

import { join } from "node:path";
import { exists } from "../../platform/files/atomic_file.ts";
import { UserError } from "../../base/user_error.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { RunFolder } from "../store/run_folder.ts";
import { type Arm, withModelsOf } from "./arms.ts";

/** A run of the comparison. */
export interface ComparedRun {
  readonly arm: Arm;
  readonly seed: number;
  /** The arm's configuration with this seed. */
  readonly config: TangoConfig;
  readonly folder: RunFolder;
}

/** Runs in the order in which they are done: one seed after the other, so that an unfinished one compares too. */
export function planComparison(
  arms: readonly Arm[],
  seeds: readonly number[],
  path: string,
): ComparedRun[] {
  const folderOf = (arm: string, seed: number) => join(path, `${arm}-seed-${seed}`);
  return seeds.flatMap((seed) =>
    arms.map((arm) => ({
      arm,
      seed,
      config: withModelsOf(
        { ...arm.config, seed, run_directory: null },
        (other) => folderOf(other, seed),
      ),
      folder: RunFolder.at(folderOf(arm.name, seed)),
    }))
  );
}

/**
 * Says which weights are missing before hours have gone into other arms.
 *
 * @throws UserError naming the arm and the path
 */
export function requireModels(arms: readonly Arm[]): void {
  for (const { name, config: { generator, verifier } } of arms) {
    for (const policy of [generator, verifier]) {
      if (policy === null || policy.model.startsWith("{") || exists(policy.model)) continue;
      throw new UserError(
        `arm ${name}: there are no weights at ${policy.model}. Check the path in the arm's settings or --config.`,
      );
    }
  }
}
