/** Options that every command with a configuration shares. */

import { type Command, InvalidArgumentError, Option } from "commander";
import type { ConfigOverrides } from "../run/load_config.ts";

/** What `addConfigOptions` makes commander collect. */
export interface ConfigOptions extends ConfigOverrides {
  readonly config: string;
}

/** Adds --config, --set, --seed, --steps, --run and --gpu; their values fit `ConfigOverrides`. */
export function addConfigOptions(command: Command, defaultConfig: string): Command {
  return command
    .option("--config <file>", "configuration in YAML", defaultConfig)
    .option(
      "--set <key=value>",
      "change one key, such as rollout.group_size=8 (repeatable)",
      collect,
    )
    .option("--seed <number>", "seed of everything random", parseWholeNumber)
    .option("--steps <number>", "number of training steps", parseWholeNumber)
    .option("--run <folder>", "folder for the run's files")
    .addOption(gpuOption());
}

/** --gpu, for commands without a configuration too. */
export function gpuOption(): Option {
  return new Option("--gpu <engine>", "which engine runs the kernels")
    .choices(["auto", "native", "dawn"]);
}

/** Reads an option's whole number. */
export function parseWholeNumber(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) {
    throw new InvalidArgumentError("Expected a whole number of at least 0.");
  }
  return value;
}

/** Gathers a repeatable option. */
export function collect(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value];
}
