/** The arms of a comparison: named changes of one configuration, read from a file. */

import { isDeepStrictEqual } from "node:util";
import { join } from "node:path";
import { camelCased } from "../../base/camel_cased.ts";
import { isMapping } from "../../base/merged.ts";
import { UserError } from "../../base/user_error.ts";
import { countGeneratorSteps, stepsToReach } from "../../rl/schedule/tango_schedule.ts";
import { resolveTangoConfig, type TangoConfig } from "../config/config_schema.ts";
import { formatKeyPath, type KeyPath } from "../config/config_problem.ts";
import { patchedTangoConfig } from "../config/load_config.ts";
import { readYamlFile } from "../config/yaml_file.ts";

/** The arms that a comparison has unless told: Tango and its two baselines. */
export const DEFAULT_ARMS = join("configs", "arms", "baselines.yaml");

/** What is done to the configuration that all arms begin with. */
export interface Arm {
  /** Names the arm in tables, and begins the names of its folders. */
  readonly name: string;
  /** As the file has it. */
  readonly patch: Readonly<Record<string, unknown>>;
  /** The whole configuration, but for the seed. */
  readonly config: TangoConfig;
  /** Arms whose weights it begins with: `{NAME}/…` in a model's path. */
  readonly needs: readonly string[];
}

/** Keys that say of which problems and how a run is measured. */
const MEASURED_ON = ["evaluation", "task", "data"] as const;

/** Keys of the device, which is opened once for all runs. */
const OF_DEVICE = ["gpu", "precision", "cache_dtype", "tuning"] as const;

/** Keys that an arm has no say in. */
const NOT_OF_ARMS = ["seed", "run_directory", ...MEASURED_ON, ...OF_DEVICE] as const;

/** A model's path inside the run of another arm with the same seed. */
const OF_ARM = /^\{([^{}]*)\}(?=\/)/;

/**
 * Reads the arms of a file. An arm does as many generator steps as the configuration without any patch, unless it says
 * `steps` (its generator steps) or `schedule.total_training_steps`; one that never trains its generator does as many
 * verifier steps.
 *
 * @param base as `loadBaseConfig` gives it
 * @throws UserError naming file, line and key of what is wrong
 */
export function loadArms(file: string, base: TangoConfig): Arm[] {
  const { value, locate } = readYamlFile(file, "--arms");
  const patches = isMapping(value) && isMapping(value.arms) ? Object.entries(value.arms) : [];
  if (!isMapping(value) || patches.length === 0 || Object.keys(value).length > 1) {
    throw new UserError(
      `${file} must hold arms, each with its settings, such as "arms: { tango: {}, grpo: { verifier: null } }".`,
    );
  }
  requireComparable(base);
  const arms: Arm[] = [];
  for (const [name, patch] of patches) {
    const arm = armOf(base, arms, { name, patch, file, locate });
    const twin = arms.find(({ config }) => isDeepStrictEqual(config, arm.config));
    if (twin !== undefined) {
      throw new UserError(
        `${locate(["arms", name])}: arms ${twin.name} and ${name} come to the same settings${
          because(base)
        }. Leave one out, or compare another --config.`,
      );
    }
    arms.push(arm);
  }
  return arms;
}

/** Why arms that should differ in their verifier do not. */
function because({ verifier }: TangoConfig): string {
  if (verifier?.trained) return "";
  return verifier === null
    ? ", because verifier is null in the configuration"
    : ", because verifier.trained is false in the configuration";
}

function requireComparable(base: TangoConfig): void {
  if (base.schedule.test_frequency === 0) {
    throw new UserError(
      "schedule.test_frequency is 0, so there would be nothing to compare; expected at least 1.",
    );
  }
  if (generatorStepsOf(resolveTangoConfig(base)) > 0) return;
  throw new UserError(
    `The ${base.schedule.total_training_steps} steps hold no generator step to compare at; give more --steps.`,
  );
}

const generatorStepsOf = ({ schedule }: TangoConfig) => countGeneratorSteps(camelCased(schedule));

interface WrittenArm {
  readonly name: string;
  readonly patch: unknown;
  readonly file: string;
  readonly locate: (path: KeyPath) => string;
}

function armOf(
  base: TangoConfig,
  before: readonly Arm[],
  { name, patch, file, locate }: WrittenArm,
): Arm {
  const place = (path: KeyPath) => locate(["arms", name, ...path]);
  const wrong = (path: KeyPath, message: string) =>
    new UserError(
      `${place(path)}: arm ${name}: ${[formatKeyPath(path), message].join(" ").trim()}`,
    );
  if (!/^[\w][\w.+-]*$/.test(name)) {
    throw wrong([], `found ${JSON.stringify(name)}, expected a name of letters, digits, . + - _.`);
  }
  if (!isMapping(patch)) {
    throw wrong([], `found ${JSON.stringify(patch)}, expected settings; {} changes nothing.`);
  }
  const { steps, ...settings } = patch;
  if (steps !== undefined && !(Number.isSafeInteger(steps) && Number(steps) >= 1)) {
    throw wrong(
      ["steps"],
      `is ${JSON.stringify(steps)}, expected a whole number of generator steps, at least 1.`,
    );
  }
  const foreign = NOT_OF_ARMS.find((key) => Object.hasOwn(settings, key));
  if (foreign !== undefined) {
    throw wrong(
      [foreign],
      "is the same for all arms. Set it in --config or with --set.",
    );
  }
  const described = (path: KeyPath) => `${place(path)}: arm ${name}: `;
  const patched = patchedTangoConfig(base, settings, described);
  if (patched.schedule.test_frequency === 0) {
    throw wrong(["schedule", "test_frequency"], "is 0, so there would be nothing to compare.");
  }
  const isTotalOwn = isMapping(settings.schedule) &&
    Object.hasOwn(settings.schedule, "total_training_steps");
  if (isTotalOwn && steps !== undefined) {
    throw wrong(
      ["steps"],
      "and schedule.total_training_steps both say when to end. Leave one out.",
    );
  }
  const total = isTotalOwn
    ? patched.schedule.total_training_steps
    : totalOf(resolveTangoConfig(base), patched, steps as number | undefined);
  if (total === null) {
    throw wrong(
      ["schedule"],
      "holds no generator step, and the configuration no verifier steps to do instead. " +
        "Say schedule.total_training_steps.",
    );
  }
  const config = { ...patched, schedule: { ...patched.schedule, total_training_steps: total } };
  const needs = modelsOf(config).flatMap(({ path, model }) => {
    const needed = OF_ARM.exec(model)?.[1];
    if (needed === undefined) return [];
    if (before.some((arm) => arm.name === needed)) return [needed];
    throw wrong(
      path,
      `is ${model}, but no arm ${JSON.stringify(needed)} stands before it in ${file}.`,
    );
  });
  return { name, patch, config, needs };
}

/** Keys that say how many steps of each policy there are. */
const STEPS = [
  "generator_warmup_steps",
  "verifier_warmup_steps",
  "generator_steps",
  "verifier_steps",
] as const;

/** Training steps of an arm; null when it has none to do. */
function totalOf(
  base: TangoConfig,
  { schedule }: TangoConfig,
  steps: number | undefined,
): number | null {
  const generatorSteps = generatorStepsOf(base);
  if (steps === undefined && STEPS.every((key) => schedule[key] === base.schedule[key])) {
    return schedule.total_training_steps;
  }
  const total = stepsToReach(camelCased(schedule), steps ?? generatorSteps);
  if (total !== null || steps !== undefined) return total;
  return base.schedule.total_training_steps - generatorSteps || null;
}

function modelsOf({ generator, verifier }: TangoConfig) {
  return [
    { path: ["generator", "model"], model: generator.model },
    ...(verifier === null ? [] : [{ path: ["verifier", "model"], model: verifier.model }]),
  ];
}

/**
 * A configuration whose models' paths are those of other runs of the same seed.
 *
 * @param folderOf the folder of an arm's run
 */
export function withModelsOf(
  config: TangoConfig,
  folderOf: (arm: string) => string,
): TangoConfig {
  const placed = (model: string) => model.replace(OF_ARM, (_, arm: string) => folderOf(arm));
  const { generator, verifier } = config;
  return {
    ...config,
    generator: { ...generator, model: placed(generator.model) },
    verifier: verifier && { ...verifier, model: placed(verifier.model) },
  };
}
