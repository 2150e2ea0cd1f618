/** A comparison: Tango and its two baselines from the same weights, over the same seeds. */

import { join } from "node:path";
import { UserError } from "../../base/user_error.ts";
import { countGeneratorSteps } from "../../rl/schedule/tango_schedule.ts";
import { resolveTangoConfig, type TangoConfig } from "../config/config_schema.ts";
import { methodName } from "../report/report.ts";
import { RunFolder } from "../store/run_folder.ts";
import { camelCased } from "../../base/camel_cased.ts";

/** A method, as the comparison's table and curves name it. */
export interface ComparedMethod {
  /** Begins the names of its folders. */
  readonly key: string;
  readonly name: string;
  readonly config: TangoConfig;
}

/** A run of the comparison. */
export interface ComparedRun {
  readonly method: ComparedMethod;
  readonly seed: number;
  /** The method's configuration with this seed. */
  readonly config: TangoConfig;
  readonly folder: RunFolder;
}

/**
 * The methods: the configuration itself, without its verifier, and with its verifier frozen. The
 * baselines' total is cut to the generator steps of the first, because they have no verifier steps.
 *
 * @throws UserError when the configuration trains no verifier, no generator, or is never evaluated
 */
export function comparedMethods(config: TangoConfig): ComparedMethod[] {
  const { verifier, schedule } = config;
  if (!verifier?.trained) {
    const found = verifier === null ? "verifier is null" : "verifier.trained is false";
    throw new UserError(
      `A comparison needs a verifier to train, but ${found}. Name its weights with ` +
        "--set verifier.model=FOLDER, or compare another --config.",
    );
  }
  if (schedule.test_frequency === 0) {
    throw new UserError(
      "schedule.test_frequency is 0, so there would be nothing to compare; expected at least 1.",
    );
  }
  const total_training_steps = countGeneratorSteps(camelCased(config.schedule));
  if (total_training_steps === 0) {
    throw new UserError(
      `The ${schedule.total_training_steps} steps hold no generator step to compare at; give more --steps.`,
    );
  }
  const baseline = (other: TangoConfig["verifier"]) =>
    resolveTangoConfig({
      ...config,
      verifier: other,
      schedule: { ...schedule, total_training_steps },
    });
  const named = (key: string, changed: TangoConfig): ComparedMethod => ({
    key,
    name: methodName(changed),
    config: changed,
  });
  return [
    named("tango", config),
    named("alone", baseline(null)),
    named("frozen-verifier", baseline({ ...verifier, trained: false, lora: null })),
  ];
}

/** Runs in the order in which they are done: one seed after the other, so that an unfinished one compares too. */
export function planComparison(
  config: TangoConfig,
  seeds: readonly number[],
  path: string,
): ComparedRun[] {
  const methods = comparedMethods(config);
  return seeds.flatMap((seed) =>
    methods.map((method) => ({
      method,
      seed,
      config: { ...method.config, seed, run_directory: null },
      folder: RunFolder.at(join(path, `${method.key}-seed-${seed}`)),
    }))
  );
}
