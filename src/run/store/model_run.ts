/** The run that a model's folder lies in, or the fine-tuning that made it, and how it was prompted there. */

import { readTextFileSync } from "../../platform/system/files.ts";
import { dirname, join } from "../../platform/system/paths.ts";
import { exists } from "../../platform/files/atomic_file.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { expectCritiques } from "../config/expect_critiques.ts";
import { loadSftConfig, loadTangoConfig } from "../config/load_config.ts";
import type { PolicyName } from "../../rl/policy.ts";
import { promptTemplatePath, type SftConfig } from "../config/sft_config_schema.ts";
import { fineTuningOf } from "./fine_tuning_file.ts";
import { RunFolder } from "./run_folder.ts";

/** The configuration of the run that a model lies in. */
export type ModelRun =
  | { readonly kind: "train"; readonly file: string; readonly config: TangoConfig }
  | { readonly kind: "sft"; readonly config: SftConfig };

/** How a policy is asked. */
export interface PolicyPrompting {
  readonly chat: boolean;
  readonly system_prompt: string | null;
  /** File of the template. */
  readonly prompt_template: string;
  /** Tokens. */
  readonly max_response_length: number;
}

/**
 * The run in whose folder, or in whose best/, a model lies, else the fine-tuning that its folder tells of; null for none.
 *
 * @throws UserError when that run's configuration is not one
 */
export function runOfModel(model: string): ModelRun | null {
  for (const folder of [dirname(model), dirname(dirname(model))]) {
    const file = RunFolder.at(folder).configuration;
    if (!exists(join(folder, "metrics.jsonl")) || !exists(file)) continue;
    const text = readTextFileSync(file);
    if (/^generator:/m.test(text)) return { kind: "train", file, config: loadTangoConfig(file) };
    if (/^policy:/m.test(text)) return { kind: "sft", config: loadSftConfig(file) };
  }
  const file = fineTuningOf(model);
  return file === null ? null : { kind: "sft", config: loadSftConfig(file) };
}

/**
 * How a policy was prompted in a run; null where the run has no such policy.
 *
 * @throws UserError for a verifier that writes nothing
 */
export function promptedAs(
  policy: PolicyName,
  run: ModelRun,
): PolicyPrompting | null {
  if (run.kind === "train") {
    if (policy === "verifier") expectCritiques(run.config);
    return run.config[policy];
  }
  const { config } = run;
  if (config.policy !== policy) return null;
  return {
    chat: config.chat,
    system_prompt: config.system_prompt,
    prompt_template: promptTemplatePath(config),
    max_response_length: config.data?.maximum_response_tokens ?? config.max_response_length,
  };
}
