/** Loads a configuration: YAML file, then overrides from the command line, then the schema. */

import { parse } from "yaml";
import type { z } from "zod";
import { isMapping, merged } from "../../base/merged.ts";
import { UserError } from "../../base/user_error.ts";
import { describeIssue, formatKeyPath, type KeyPath } from "./config_problem.ts";
import { resolveTangoConfig, type TangoConfig, tangoConfigSchema } from "./config_schema.ts";
import { type SftConfig, sftConfigSchema } from "./sft_config_schema.ts";
import { type TeacherConfig, teacherConfigSchema } from "./teacher_schema.ts";
import { readYamlFile } from "./yaml_file.ts";

/** Changes of a configuration by the command line. */
export interface ConfigOverrides {
  /** `key.path=value` each, the value in YAML; later ones win. */
  readonly set?: readonly string[];
  readonly seed?: number;
  /** Number of training steps. */
  readonly steps?: number;
  /** Run folder. */
  readonly run?: string;
  readonly gpu?: string;
}

/** A value for a key. */
export interface Override {
  readonly path: KeyPath;
  readonly value: unknown;
  /** The option it came from, for messages. */
  readonly origin: string;
}

/**
 * Loads the configuration of a Tango run.
 *
 * @throws UserError with one line for each problem: place, key, what was found, what was expected
 */
export function loadTangoConfig(file: string, overrides: ConfigOverrides = {}): TangoConfig {
  return resolveTangoConfig(loadBaseConfig(file, overrides));
}

/**
 * Loads a configuration as it is written, of which a patch may still switch the verifier on or off.
 *
 * @throws UserError with one line for each problem: place, key, what was found, what was expected
 */
export function loadBaseConfig(file: string, overrides: ConfigOverrides = {}): TangoConfig {
  return loadConfig(tangoConfigSchema, file, overrides, fineTunings);
}

/**
 * A configuration with a patch laid over it at every depth, as it will run.
 *
 * @param base as `loadBaseConfig` gives it
 * @param place stands before what is wrong with a key
 * @throws UserError with one line for each problem
 */
export function patchedTangoConfig(
  base: TangoConfig,
  patch: Readonly<Record<string, unknown>>,
  place: (path: KeyPath) => string,
): TangoConfig {
  return resolveTangoConfig(parseConfig(tangoConfigSchema, merged(base, patch), place));
}

/**
 * Loads the configuration of supervised fine-tuning.
 *
 * @throws UserError with one line for each problem: place, key, what was found, what was expected
 */
export function loadSftConfig(file: string, overrides: ConfigOverrides = {}): SftConfig {
  return loadConfig(sftConfigSchema, file, overrides, trainings);
}

/**
 * Loads a teacher's configuration.
 *
 * @throws UserError with one line for each problem: place, key, what was found, what was expected
 */
export function loadTeacherConfig(file: string, overrides: ConfigOverrides = {}): TeacherConfig {
  return loadConfig(teacherConfigSchema, file, overrides);
}

/**
 * Reads any YAML file that a schema describes.
 *
 * @throws UserError with one line for each problem: place, key, what was found, what was expected
 */
export function loadYaml<Value>(schema: z.ZodType<Value>, file: string): Value {
  return loadConfig(schema, file, {});
}

/** A file of another kind: by which key it is known, and what it is. */
interface OtherKind {
  readonly key: string;
  readonly is: string;
}

const fineTunings: OtherKind = {
  key: "policy",
  is:
    "configures a fine-tuning, which ./tango sft takes and whose weights lie in its output_directory; " +
    "expected the configuration of a training run",
};
const trainings: OtherKind = {
  key: "generator",
  is:
    "configures a training run, which ./tango train takes; expected the configuration of a fine-tuning",
};

function loadConfig<Config>(
  schema: z.ZodType<Config>,
  file: string,
  overrides: ConfigOverrides,
  other?: OtherKind,
): Config {
  const yaml = readYamlFile(file);
  const input = yaml.value;
  if (!isMapping(input)) {
    throw new UserError(
      `${file} must hold keys and values, such as "seed: 1"; found ${typeof input}.`,
    );
  }
  if (other !== undefined && Object.hasOwn(input, other.key)) {
    throw new UserError(`${file} ${other.is}.`);
  }
  const changes = listOverrides(overrides);
  for (const change of changes) applyOverride(input, change);
  return parseConfig(schema, input, (path) => {
    const change = changes.findLast((candidate) => covers(candidate.path, path));
    return `${change?.origin ?? yaml.locate(path)}: `;
  });
}

/**
 * A configuration with some keys changed.
 *
 * @param settings values by key, such as `rollout.temperature`
 * @throws UserError with one line for each problem: key, what was found, what was expected
 */
export function changedConfig<Config extends object>(
  schema: z.ZodType<Config>,
  config: Config,
  settings: Readonly<Record<string, unknown>>,
): Config {
  const input: Record<string, unknown> = Object.fromEntries(
    Object.entries(structuredClone(config)),
  );
  for (const [key, value] of Object.entries(settings)) {
    applyOverride(input, { path: key.split("."), value, origin: `${key} cannot be changed` });
  }
  return parseConfig(schema, input, () => "");
}

/** @param place stands before what is wrong with a key */
function parseConfig<Config>(
  schema: z.ZodType<Config>,
  input: unknown,
  place: (path: KeyPath) => string,
): Config {
  const result = schema.safeParse(input, { reportInput: true });
  if (result.success) return result.data;
  const lines = result.error.issues
    .flatMap((issue) => describeIssue(issue, schema))
    .map(({ path, message }) =>
      `${place(path)}${formatKeyPath(path)} ${message}.`.replace("?.", "?")
    );
  throw new UserError(lines.join("\n"));
}

function listOverrides(overrides: ConfigOverrides): Override[] {
  const changes = (overrides.set ?? []).map(parseAssignment);
  const { seed, steps, run, gpu } = overrides;
  if (seed !== undefined) changes.push({ path: ["seed"], value: seed, origin: "--seed" });
  if (steps !== undefined) {
    const path = ["schedule", "total_training_steps"];
    changes.push({ path, value: steps, origin: "--steps" });
  }
  if (run !== undefined) changes.push({ path: ["run_directory"], value: run, origin: "--run" });
  if (gpu !== undefined) changes.push({ path: ["gpu"], value: gpu, origin: "--gpu" });
  return changes;
}

/**
 * Reads `key.path=value`, the value in YAML.
 *
 * @throws UserError for anything else
 */
export function parseAssignment(assignment: string): Override {
  const origin = `--set ${assignment}`;
  const equals = assignment.indexOf("=");
  const path = assignment.slice(0, Math.max(equals, 0)).trim().split(".");
  if (equals < 0 || path.some((key) => key === "")) {
    throw new UserError(`${origin}: expected key.path=value, such as --set rollout.group_size=8.`);
  }
  try {
    return { path, value: parse(assignment.slice(equals + 1)), origin };
  } catch (error) {
    const [reason] = (error as Error).message.split("\n");
    throw new UserError(`${origin}: the value is not valid YAML: ${reason}`);
  }
}

function applyOverride(input: Record<string, unknown>, { path, value, origin }: Override): void {
  let place = input;
  path.slice(0, -1).forEach((key, depth) => {
    const inner = place[key] ??= {};
    if (!isMapping(inner)) {
      throw new UserError(
        `${origin}: ${formatKeyPath(path.slice(0, depth + 1))} is ${JSON.stringify(inner)}, ` +
          `which has no keys inside it. Set it as a whole instead.`,
      );
    }
    place = inner;
  });
  place[path[path.length - 1]] = value;
}

/** Whether setting `outer` determines what is found at `inner`. */
function covers(outer: KeyPath, inner: KeyPath): boolean {
  return outer.length <= inner.length && outer.every((key, index) => key === inner[index]);
}
