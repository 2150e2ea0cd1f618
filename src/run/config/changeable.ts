/** Which settings may change while a run goes on: none of them changes shapes, memory, data or the schedule. */

import { UserError } from "../../base/user_error.ts";
import { resolveTangoConfig, type TangoConfig, tangoConfigSchema } from "./config_schema.ts";
import { changedConfig, parseAssignment } from "./load_config.ts";
import { type SftConfig, sftConfigSchema } from "./sft_config_schema.ts";

/** Values by configuration key, such as `rollout.temperature`. */
export type Settings = Readonly<Record<string, string | number>>;

/** Keys that may change in a Tango run. */
export const changeableTangoKeys: readonly string[] = [
  "generator.optimizer.learning_rate",
  "verifier.optimizer.learning_rate",
  "rollout.temperature",
  "advantage.alpha.initial",
  "advantage.alpha.minimum",
  "advantage.alpha.schedule",
  "advantage.alpha.decay_fraction",
  "schedule.test_frequency",
  "schedule.save_frequency",
];

/** Keys that may change in a fine-tuning. */
export const changeableSftKeys: readonly string[] = [
  "optimizer.learning_rate",
  "schedule.test_frequency",
  "schedule.save_frequency",
];

/**
 * The configuration of a Tango run with some settings changed.
 *
 * @throws UserError naming those that may not change, or do not fit
 */
export function changeTangoConfig(config: TangoConfig, settings: Settings): TangoConfig {
  requireChangeable(settings, changeableTangoKeys);
  const ofVerifier = Object.keys(settings).find((key) => key.startsWith("verifier."));
  if (ofVerifier !== undefined && !config.verifier?.trained) {
    throw new UserError(
      `${ofVerifier} cannot change: this run trains no verifier (${
        config.verifier === null ? "verifier is null" : "verifier.trained is false"
      }).`,
    );
  }
  const ofGenerator = Object.keys(settings).find((key) => key.startsWith("generator."));
  if (ofGenerator !== undefined && !config.generator.trained) {
    throw new UserError(
      `${ofGenerator} cannot change: this run trains no generator (generator.trained is false).`,
    );
  }
  return resolveTangoConfig(changedConfig(tangoConfigSchema, config, settings));
}

/**
 * The configuration of a fine-tuning with some settings changed.
 *
 * @throws UserError naming those that may not change, or do not fit
 */
export function changeSftConfig(config: SftConfig, settings: Settings): SftConfig {
  requireChangeable(settings, changeableSftKeys);
  return changedConfig(sftConfigSchema, config, settings);
}

/**
 * Reads `key=value` assignments, the value in YAML; later ones win.
 *
 * @throws UserError for what is no assignment of a number or a word
 */
export function parseSettings(assignments: readonly string[]): Settings {
  return Object.fromEntries(assignments.map((assignment) => {
    const { path, value, origin } = parseAssignment(assignment);
    if (typeof value === "number" || typeof value === "string") return [path.join("."), value];
    throw new UserError(`${origin}: expected a number or a word.`);
  }));
}

function requireChangeable(settings: Settings, changeable: readonly string[]): void {
  const others = Object.keys(settings).filter((key) => !changeable.includes(key));
  if (others.length === 0) return;
  throw new UserError(
    `${
      others.join(", ")
    } cannot change while a run goes on, for it would be another run. What can is ` +
      `${changeable.join(", ")}.`,
  );
}
