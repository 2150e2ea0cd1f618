import type { TangoConfig } from "../../run/config/config_schema.ts";
import { loadTangoConfig } from "../../run/config/load_config.ts";
import type { SftConfig } from "../../run/config/sft_config_schema.ts";
import { type ModelRun, promptedAs, runOfModel } from "../../run/store/model_run.ts";
import { UserError } from "../../base/user_error.ts";

/** What `eval` was asked; a run stands for a model of one of its checkpoints. */
export interface AskedEvaluation extends Omit<EvalOptions, "model" | "verifier"> {
  readonly model?: string;
  /** True: the run's own. */
  readonly verifier?: string | true;
  readonly run?: string;
  readonly checkpoint?: number;
}

/** What is measured. */
export interface EvalOptions {
  readonly model: string;
  readonly policy: "generator" | "verifier";
  readonly generator?: string;
  /** Folder of the verifier that chooses among a generator's samples. */
  readonly verifier?: string;
  /** Critiques of each sample; 1 by default. */
  readonly critiques?: number;
  /** Times that a sample is rewritten, at most; 0 by default. */
  readonly rewrites?: number;
  readonly config?: string;
  readonly set?: readonly string[];
  readonly task?: string;
  readonly data?: readonly string[];
  readonly format?: string;
  readonly columns?: readonly string[];
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
  checkVerifier(options);
  if (temperature !== undefined && k === 1 && (options.critiques ?? 1) === 1 && !options.rewrites) {
    throw new UserError(
      "--temperature is that of sampled responses, and one response is decoded greedily: add --k 8, or leave it out.",
    );
  }
  const text = (value: string) => JSON.stringify(value);
  const judging = policy === "verifier" ? model : options.verifier;
  const overrides = [
    ...(task === undefined ? [] : [`task={name: ${task}}`, "data=null"]),
    ...options.set ?? [],
    `generator.model=${text(generator ?? model)}`,
    "generator.lora=null",
    ...(judging === undefined
      ? ["verifier=null"]
      : [`verifier.model=${text(judging)}`, "verifier.lora=null"]),
    // No solutions are sampled then, whatever conversations the generator was used to.
    ...(judgesFiles ? ["generator.chat=false", "generator.system_prompt=null"] : []),
    // Nothing is trained, nor compared with what it began as.
    ...["placement=null", "trained_dtype=float32", "reference_memory=gpu"],
    `evaluation.samples=${k}`,
    ...(temperature === undefined
      ? []
      : [`rollout.temperature=${temperature}`, "rollout.critique_temperature=null"]),
  ];
  const { file, set } = options.config !== undefined
    ? { file: options.config, set: [] }
    : configOfRuns(options);
  const config = loadTangoConfig(file, { set: [...set, ...overrides], gpu: options.gpu });
  checkRewardModel(config, options, judgesFiles);
  const evaluation = {
    ...config.evaluation,
    problems: problems ?? (data || config.data ? null : defaultProblems),
    seed: seed ?? config.evaluation.seed,
  };
  return { ...config, evaluation };
}

/** @throws UserError when a verifier is named that has nothing to do, or none is named that has */
function checkVerifier({ policy, verifier, critiques, rewrites = 0, k }: EvalOptions): void {
  if (verifier === undefined) {
    const needs = critiques !== undefined ? "--critiques" : rewrites > 0 ? "--rewrites" : null;
    if (needs === null) return;
    throw new UserError(
      `${needs} takes a verifier that judges the samples: name its folder with --verifier.`,
    );
  }
  if (policy === "verifier") {
    throw new UserError(
      "--verifier chooses among a generator's samples; --policy verifier measures the one of --model or --run.",
    );
  }
  if (k === 1 && rewrites === 0) {
    throw new UserError(
      "--verifier has nothing to choose from: add --k 8 for several samples, or --rewrites 2.",
    );
  }
}

/** @throws UserError when critiques are asked of a verifier that writes none */
function checkRewardModel(
  { verifier }: TangoConfig,
  { critiques, rewrites = 0 }: EvalOptions,
  judgesFiles: boolean,
): void {
  if (verifier === null || verifier.kind === "generative") return;
  const needs = critiques !== undefined ? "--critiques" : rewrites > 0 ? "--rewrites" : null;
  if (needs === null && !judgesFiles) return;
  throw new UserError(
    `${
      needs ?? "Judging the steps of files"
    } takes a verifier that writes critiques, and this one is a reward model ` +
      `(verifier.kind: ${verifier.kind}).`,
  );
}

/** A configuration file and what is changed in it. */
interface ChangedConfig {
  readonly file: string;
  readonly set: readonly string[];
}

/**
 * Problems and numbers as in the run of the generator, else of the verifier; each policy is prompted as in its
 * own run.
 */
function configOfRuns({ model, policy, generator, verifier }: EvalOptions): ChangedConfig {
  const folders = policy === "generator"
    ? { generator: model, verifier }
    : { generator, verifier: model };
  const runs = {
    generator: folders.generator === undefined ? null : runOfModel(folders.generator),
    verifier: folders.verifier === undefined ? null : runOfModel(folders.verifier),
  };
  const run = runs.generator ?? runs.verifier;
  const base = run === null
    ? { file: defaultConfig, set: [] }
    : run.kind === "train"
    ? { file: run.file, set: [] }
    : { file: defaultConfig, set: problemSettings(run.config) };
  const prompting = [
    ...promptSettings("generator", runs.generator),
    ...(isRewardModel(runs.verifier)
      ? rewardModelSettings(runs.verifier.config.verifier)
      : promptSettings("verifier", runs.verifier)),
  ];
  const isCreditedByTokens = run?.kind === "train" &&
    run.config.advantage.process === "token-to-go";
  return {
    ...base,
    set: [
      ...base.set,
      ...(isCreditedByTokens || isRewardModel(runs.verifier) ? creditedBy(runs.verifier) : []),
      ...prompting,
    ],
  };
}

/** The run of a verifier that writes nothing. */
type RewardModelRun = Extract<ModelRun, { readonly kind: "train" }> & {
  readonly config: { readonly verifier: NonNullable<TangoConfig["verifier"]> };
};

function isRewardModel(run: ModelRun | null): run is RewardModelRun {
  const kind = run?.kind === "train" ? run.config.verifier?.kind : undefined;
  return kind !== undefined && kind !== "generative";
}

/** Nothing is credited in an evaluation, but a configuration must be one that could: the generator may be of another run. */
function creditedBy(verifier: ModelRun | null): string[] {
  const isImplicit = isRewardModel(verifier) && verifier.config.verifier.kind === "implicit";
  return assignments({
    "advantage.process": isImplicit ? "token-to-go" : "sum-to-go",
    "advantage.alpha": { initial: 0, schedule: "none" },
    "advantage.judgments": "verifier",
    "advantage.judged": "all",
    "advantage.normalisation": "separate",
    "advantage.oracle_accuracy": 1,
  });
}

/** What a reward model of a run is, and what it was measured against. */
function rewardModelSettings(
  { kind, beta, model, reference, chat, system_prompt, prompt_template }: NonNullable<
    TangoConfig["verifier"]
  >,
): string[] {
  const isImplicit = kind === "implicit";
  return assignments({
    "verifier.kind": kind,
    "verifier.beta": beta,
    "verifier.reference": isImplicit ? reference ?? model : null,
    "verifier.chat": chat,
    "verifier.system_prompt": system_prompt,
    "verifier.prompt_template": prompt_template,
  });
}

/** What a fine-tuning says of problems, as a training run's configuration says it. */
function problemSettings({ seed, task, data, evaluation }: SftConfig): string[] {
  const { maximum_response_tokens: _, response: __, ...problems } = data ?? {};
  return assignments({
    seed,
    task,
    data: data && problems,
    "evaluation.problems": evaluation.problems,
    "evaluation.seed": evaluation.seed,
  });
}

/** How a policy is prompted in its run, and how long its responses may get. */
function promptSettings(name: "generator" | "verifier", run: ModelRun | null): string[] {
  const prompted = run && promptedAs(name, run);
  if (prompted === null) return [];
  const { chat, system_prompt, prompt_template, max_response_length } = prompted;
  return assignments({
    [`${name}.chat`]: chat,
    [`${name}.system_prompt`]: system_prompt,
    [`${name}.prompt_template`]: prompt_template,
    [`${name}.max_response_length`]: max_response_length,
  });
}

function assignments(values: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(values).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
}
