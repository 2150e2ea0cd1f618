/** Options that several commands share. */

import { type Command, InvalidArgumentError, Option } from "commander";
import { UserError } from "../base/user_error.ts";
import { cacheDtypes } from "../gpu/tensor.ts";
import type { ConfigOverrides } from "../run/config/load_config.ts";
import { frozenDtypes } from "../run/config/shared_schema.ts";

/** What is trained, compared and planned when nothing is said: the embedded task whose answers follow from its steps. */
export const DEFAULT_CONFIG = "configs/chains.yaml";

/** What `addConfigOptions` makes commander collect. */
export interface ConfigOptions extends ConfigOverrides {
  readonly config: string;
  /** Belongs to the machine, not to the run: a resumed run may take another. */
  readonly gpuIndex?: number;
}

/** Adds --config, --set, --seed, --steps, --run, --gpu and --gpu-index. */
export function addConfigOptions(command: Command, defaultConfig: string): Command {
  return addSeedlessConfigOptions(command, defaultConfig)
    .option("--seed <number>", "seed of everything random", parseWholeNumber);
}

/** The same without --seed, for a command that runs several seeds. */
export function addSeedlessConfigOptions(command: Command, defaultConfig: string): Command {
  return command
    .addOption(configOption(defaultConfig))
    .addOption(setOption())
    .option("--steps <number>", "number of training steps", parseWholeNumber)
    .option("--run <folder>", "folder for the run's files")
    .addOption(gpuOption())
    .addOption(gpuIndexOption());
}

/** --config with its default. */
export function configOption(defaultConfig: string): Option {
  return new Option("--config <file>", "configuration in YAML").default(defaultConfig);
}

/** --set, which may be repeated. */
export function setOption(): Option {
  return new Option(
    "--set <key=value>",
    "change one key, such as rollout.group_size=8 (repeatable)",
  ).argParser(collect);
}

/** --gpu, for commands without a configuration too. */
export function gpuOption(): Option {
  return new Option("--gpu <engine>", "which engine runs the kernels")
    .choices(["auto", "native", "dawn"]);
}

/**
 * Adds --gpu, --gpu-index, --precision, --frozen-dtype and --cache-dtype, for commands without a configuration, which
 * has keys of these names.
 */
export function addModelOptions(command: Command): Command {
  return command
    .addOption(gpuOption())
    .addOption(gpuIndexOption())
    .addOption(
      new Option("--precision <kind>", "what products take of their factors; f16 on matrix units")
        .choices(["auto", "f32", "f16", "f16-pair", "f32-matrix"]),
    )
    .addOption(
      new Option(
        "--frozen-dtype <type>",
        "how weights are stored; quantised keeps a GGUF file's blocks; default: auto",
      ).choices(frozenDtypes),
    )
    .addOption(
      new Option("--cache-dtype <type>", "how keys and values are stored; default: f32")
        .choices(cacheDtypes),
    );
}

/** --gpu-index, for every command that opens a GPU. */
export function gpuIndexOption(): Option {
  return new Option("--gpu-index <number>", "which GPU, as ./tango doctor numbers them")
    .argParser(parseWholeNumber);
}

/** --memory-limit, for commands without a configuration, which has `memory_limit_gb`. */
export function memoryLimitOption(): Option {
  return new Option(
    "--memory-limit <GB>",
    "GB (10⁹ bytes) of GPU memory that may be taken; default: what the device is known to have",
  ).argParser(parseNumber);
}

/** --resume for commands that keep runs. */
export function resumeOption(): Option {
  return new Option("--resume", "continue the run in --run, or else the newest one");
}

/** --ranks for commands that run on several GPUs. */
export function ranksOption(): Option {
  return new Option(
    "--ranks <number>",
    "processes on this machine, each with a GPU of its own, that share the work",
  ).argParser(parseCount);
}

/**
 * A resumed run keeps its configuration, or it would not be the same run. Which GPU it takes is none of it.
 *
 * @param allowed attribute names of the options that go with --resume
 * @param changeable keys that --set may change nevertheless
 * @throws UserError naming the options that do not
 */
export function refuseWithResume(
  command: Command,
  allowed: readonly string[],
  changeable: readonly string[] = [],
): void {
  const refused = command.options.filter((option) => {
    const name = option.attributeName();
    return command.getOptionValueSource(name) === "cli" &&
      !["resume", "gpuIndex", ...allowed].includes(name);
  }).map(({ long }) => long);
  if (refused.length > 0) {
    throw new UserError(
      `--resume continues a run with the configuration in its folder, so ${refused.join(", ")} ` +
        `cannot go with it. Leave ${
          refused.length === 1 ? "it" : "them"
        } out, or start a new run without --resume.` +
        (changeable.length === 0 ? "" : ` What --set can change is ${changeable.join(", ")}.`),
    );
  }
}

/**
 * An option that only says something beside another must not be passed over without it.
 *
 * @param option its long name; `needed`, that of the other
 * @throws UserError when it was given alone
 */
export function expectBeside(command: Command, option: string, needed: string): void {
  const isGiven = (long: string) => {
    const name = command.options.find((one) => one.long === long)?.attributeName();
    if (name === undefined) throw new Error(`${command.name()} has no option ${long}`);
    return command.getOptionValueSource(name) === "cli";
  };
  if (!isGiven(option) || isGiven(needed)) return;
  throw new UserError(
    `${option} says nothing without ${needed}: add that, or leave ${option} out.`,
  );
}

/** Reads an option's whole number. */
export function parseWholeNumber(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) {
    throw new InvalidArgumentError("Expected a whole number of at least 0.");
  }
  return value;
}

/** Reads an option's number of things. */
export function parseCount(text: string): number {
  const value = /^\d+$/.test(text) ? Number(text) : 0;
  if (value < 1 || !Number.isSafeInteger(value)) {
    throw new InvalidArgumentError("Expected a whole number of at least 1.");
  }
  return value;
}

/** Reads an option's number of at least 0, such as a temperature. */
export function parseNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value < 0) {
    throw new InvalidArgumentError("Expected a number of at least 0.");
  }
  return value;
}

/** Gathers a repeatable option. */
export function collect(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value];
}
