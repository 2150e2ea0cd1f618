import { dirname, join } from "node:path";
import { exists } from "../../base/atomic_file.ts";
import type { TangoConfig } from "../../run/config/config_schema.ts";
import { loadSftConfig, loadTangoConfig } from "../../run/config/load_config.ts";
import { RunFolder } from "../../run/store/run_folder.ts";
import type { SftConfig } from "../../run/config/sft_config_schema.ts";
import { UserError } from "../../base/user_error.ts";

/** What `eval` was asked. */
export interface EvalOptions {
  readonly model: string;
  readonly policy: "generator" | "verifier";
  readonly generator?: string;
  readonly config?: string;
  readonly set?: readonly string[];
  readonly task?: string;
  readonly data?: readonly string[];
  readonly format?: string;
  readonly problems?: number;
  readonly k: number;
  readonly temperature?: number;
  readonly seed?: number;
  readonly gpu?: string;
  readonly gpuIndex?: number;
  readonly json?: boolean;
}

/** Where the configuration is taken from when neither the command line nor a run says it. */
export const defaultConfig = "configs/last-letter.yaml";
/** Problems that are measured of those that an embedded task could make without end. */
export const defaultProblems = 256;

/** The configuration's task and templates, with the models and numbers of the command line. */
export function configure(options: EvalOptions, judgesFiles: boolean): TangoConfig {
  const { model, policy, generator, task, data, problems, k, temperature, seed } = options;
  if (policy === "verifier" && generator === undefined && !judgesFiles) {
    throw new UserError(
      "A verifier is measured on a generator's solutions: name its folder with --generator.",
    );
  }
  if (policy === "generator" && generator !== undefined) {
    throw new UserError("--generator goes with --policy verifier; a generator needs only --model.");
  }
  if (temperature === 0) {
    throw new UserError(
      "--temperature 0 is greedy decoding: use --k 1 for that, or a temperature above 0.",
    );
  }
  const text = (value: string) => JSON.stringify(value);
  const overrides = [
    ...(task === undefined ? [] : [`task={name: ${task}}`, "data=null"]),
    ...options.set ?? [],
    `generator.model=${text(generator ?? model)}`,
    "generator.lora=null",
    ...(policy === "verifier" ? [`verifier.model=${text(model)}`, "verifier.lora=null"] : [
      "verifier=null",
    ]),
    // No solutions are sampled then, whatever conversations the generator was used to.
    ...(judgesFiles ? ["generator.chat=false", "generator.system_prompt=null"] : []),
    `evaluation.samples=${k}`,
    ...(temperature === undefined ? [] : [`rollout.temperature=${temperature}`]),
  ];
  const { file, set } = options.config !== undefined
    ? { file: options.config, set: [] }
    : configOfRun(generator ?? model) ?? configOfRun(model) ?? { file: defaultConfig, set: [] };
  const config = loadTangoConfig(file, { set: [...set, ...overrides], gpu: options.gpu });
  const evaluation = {
    ...config.evaluation,
    problems: problems ?? (data || config.data ? null : defaultProblems),
    seed: seed ?? config.evaluation.seed,
  };
  return { ...config, evaluation };
}

/** A configuration file and what is changed in it. */
interface ChangedConfig {
  readonly file: string;
  readonly set: readonly string[];
}

/** The configuration of the run whose folder, or whose best/, a model lies in. */
function configOfRun(model: string): ChangedConfig | null {
  for (const folder of [dirname(model), dirname(dirname(model))]) {
    const file = RunFolder.at(folder).configuration;
    if (!exists(join(folder, "metrics.jsonl")) || !exists(file)) continue;
    const text = Deno.readTextFileSync(file);
    if (/^generator:/m.test(text)) return { file, set: [] };
    if (/^policy:/m.test(text)) {
      return { file: defaultConfig, set: asTraining(loadSftConfig(file)) };
    }
  }
  return null;
}

/** What a fine-tuning says of problems and prompts, as a training run's configuration says it. */
function asTraining(config: SftConfig): string[] {
  const { task, data, chat, system_prompt, seed, evaluation } = config;
  const { maximum_response_tokens: longest, response: _, ...problems } = data ?? {};
  const values = {
    seed,
    task,
    data: data && problems,
    "generator.chat": chat,
    "generator.system_prompt": system_prompt,
    "generator.prompt_template": config.generator_prompt_template,
    "generator.max_response_length": longest ?? evaluation.max_response_length,
    "verifier.prompt_template": config.verifier_prompt_template,
    "evaluation.problems": evaluation.problems,
    "evaluation.seed": evaluation.seed,
  };
  return Object.entries(values).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
}
