/**
 * The configuration of a Tango run. The defaults are those of the published run wherever it states a
 * value (arXiv 2505.15034); what depends on the machine or the task is set for the embedded tasks.
 */

import { z } from "zod";
import { flag, oneOf, realNumber, section, text, wholeNumber } from "./schema_fields.ts";
import { dataSchema } from "./data_schema.ts";
import {
  chatFields,
  frozenDtypeSchema,
  gpuSchema,
  gradientCheckpointingSchema,
  loraSchema,
  memoryLimitSchema,
  optimizerSchema,
  promptTemplateSchema,
  runDirectorySchema,
  seedSchema,
  systemPromptNeedsChat,
  taskSchema,
} from "./shared_schema.ts";

const MODEL_PATH =
  "the path of a folder with model.safetensors, config.json and tokenizer.json, or of a .gguf file";

const generatorSchema = section({
  /** Starting weights, also the frozen reference. */
  model: text(MODEL_PATH),
  lora: loraSchema,
  /** Tokens after which a response is cut off. */
  max_response_length: wholeNumber({ minimum: 1 }).default(128),
  prompt_template: promptTemplateSchema("generator.txt"),
  ...chatFields,
  optimizer: optimizerSchema.prefault({}),
});

const verifierSchema = section({
  model: text(MODEL_PATH),
  lora: loraSchema,
  /** false keeps the verifier as it is: the paper's frozen-verifier baseline. */
  trained: flag().default(true),
  max_response_length: wholeNumber({ minimum: 1 }).default(192),
  prompt_template: promptTemplateSchema("verifier.txt"),
  ...chatFields,
  optimizer: optimizerSchema.prefault({}),
});

const rolloutSchema = section({
  /** Problems in a step (B). */
  batch_size: wholeNumber({ minimum: 1 }).default(32),
  /** Responses that are compared with each other (n). */
  group_size: wholeNumber({ minimum: 1 }).default(5),
  /**
   * Batches that a generator step may sample until `batch_size` groups have unequal rewards (DAPO's dynamic
   * sampling); 1 takes the first as it is.
   */
  maximum_generation_batches: wholeNumber({ minimum: 1 }).default(1),
  /** Critiques of each solution in a generator step (m); their rewards are averaged. */
  verifications_per_solution: wholeNumber({ minimum: 1 }).default(1),
  temperature: realNumber({ above: 0 }).default(1),
  /** Only the k likeliest tokens are sampled from; 0 means all. */
  top_k: wholeNumber({ minimum: 0 }).default(0),
  /** Only the likeliest tokens that together have this probability; 1 means all. */
  top_p: realNumber({ above: 0, maximum: 1 }).default(1),
  /** Only tokens at least this fraction as likely as the likeliest; 0 means all. */
  min_p: realNumber({ minimum: 0, below: 1 }).default(0),
  /** Sequences decoded at once; finished ones make room for waiting ones. */
  decode_slots: wholeNumber({ minimum: 1 }).default(160),
  /** Tokens decoded on the GPU between two looks at which sequences have finished. */
  steps_between_readbacks: wholeNumber({ minimum: 1 }).default(16),
});

const lossSchema = section({
  /** `ppo` clips each token's ratio, `gspo` each sequence's, `cispo` clips the weight of its gradient. */
  objective: oneOf(["ppo", "gspo", "cispo"]).default("ppo"),
  /** How the tokens' losses become one: over all tokens, or over sequences by their mean or their sum. */
  aggregation: oneOf(["token-mean", "sequence-mean", "sequence-sum"]).default("token-mean"),
  /** Leaves responses that were cut off out of the loss. */
  mask_truncated: flag().default(false),
  /** Leaves groups whose advantages are all 0 out of the loss and of its mean. */
  drop_zero_variance: flag().default(false),
  /** The probability ratio is clipped to 1 − low … 1 + high. */
  clip_ratio_low: realNumber({ minimum: 0, maximum: 1 }).default(0.2),
  clip_ratio_high: realNumber({ minimum: 0 }).default(0.2),
  /** Weight of the divergence from the starting weights. */
  kl_coefficient: realNumber({ minimum: 0 }).default(0.001),
  kl_estimator: oneOf(["k1", "k2", "k3"]).default("k3"),
  /** Weight of the entropy bonus. */
  entropy_coefficient: realNumber({ minimum: 0 }).default(0.001),
  /** Optimizer updates that a batch is cut into. */
  mini_batches: wholeNumber({ minimum: 1 }).default(1),
  /** Times that each batch is gone through. */
  epochs: wholeNumber({ minimum: 1 }).default(1),
  /** The responses to a prompt compute it once; a pass then holds all of them or none. */
  share_prompts: flag().default(true),
  /** Tokens in one forward and backward pass: more is faster and takes more memory. */
  micro_batch_tokens: wholeNumber({ minimum: 1 }).default(8192),
  gradient_checkpointing: gradientCheckpointingSchema,
});

const alphaSchema = section({
  initial: realNumber({ minimum: 0, maximum: 1 }).default(0.1),
  minimum: realNumber({ minimum: 0, maximum: 1 }).default(0.001),
  schedule: oneOf(["exp", "linear", "cosine", "none"]).default("exp"),
  /** With exp: the share of the generator's steps after which the minimum is reached. */
  decay_fraction: realNumber({ above: 0, maximum: 1 }).default(1),
});

const advantageSchema = section({
  estimator: oneOf(["grpo", "dr_grpo", "rloo", "reinforce++"]).default("grpo"),
  /** α: the share of the process advantage in the generator's advantage. */
  alpha: alphaSchema.prefault({}),
  outcome_weight: realNumber({ minimum: 0 }).default(1),
  process_weight: realNumber({ minimum: 0 }).default(1),
});

const rewardsSchema = section({
  /** A TypeScript module whose default export gives a solution's reward instead of its correctness. */
  module: text("the path of a TypeScript module, or null").nullable().default(null),
  /** w in w·correct + (1 − w)·verdict, the generator's outcome reward. */
  ground_truth_weight: realNumber({ minimum: 0, maximum: 1 }).default(1),
  generator_format_weight: realNumber({ minimum: 0 }).default(0),
  /** Steps below which the generator's format score is lowered. */
  minimum_steps: wholeNumber({ minimum: 0 }).default(3),
  /** Tokens below the longest length from which on a solution's reward is lowered; 0: none is. */
  overlong_buffer: wholeNumber({ minimum: 0 }).default(0),
  /** What a solution of the longest length loses. */
  overlong_penalty: realNumber({ minimum: 0 }).default(1),
  verifier_correctness_weight: realNumber({ minimum: 0 }).default(1),
  verifier_format_weight: realNumber({ minimum: 0 }).default(0.8),
});

const classReweightingSchema = section({
  /** How the verifier's advantages make up for unequal numbers of right and wrong solutions. */
  method: oneOf(["sqrt_inverse", "inverse", "none"]).default("sqrt_inverse"),
  /** Decay of the moving averages of the class counts. */
  decay: realNumber({ minimum: 0, below: 1 }).default(0.8),
});

const scheduleSchema = section({
  /** Generator steps at the start, with the rule-based reward alone. */
  generator_warmup_steps: wholeNumber({ minimum: 0 }).default(0),
  /** Verifier steps after those. */
  verifier_warmup_steps: wholeNumber({ minimum: 0 }).default(0),
  /** Then cycles of this many generator steps … */
  generator_steps: wholeNumber({ minimum: 0 }).default(3),
  /** … and this many verifier steps. */
  verifier_steps: wholeNumber({ minimum: 0 }).default(1),
  /** All steps together, warm-ups included. */
  total_training_steps: wholeNumber({ minimum: 1 }).default(100),
  /** Generator steps between two evaluations; 0 switches evaluation off. */
  test_frequency: wholeNumber({ minimum: 0 }).default(10),
  /** Generator steps between two checkpoints; 0 saves at the end and when stopped only. */
  save_frequency: wholeNumber({ minimum: 0 }).default(25),
  /** Newest checkpoints that are kept. */
  keep_checkpoints: wholeNumber({ minimum: 1 }).default(2),
  /** Keeps the weights of the evaluation with the best generator accuracy in the run folder's best/. */
  keep_best: flag().default(false),
});

const evaluationSchema = section({
  /** Held-out problems. */
  problems: wholeNumber({ minimum: 1 }).default(256),
  /** Seed of the held-out problems, the same for every run that is to be compared. */
  seed: wholeNumber({ minimum: 0, maximum: 2 ** 32 - 1 }).default(20250521),
  /** Responses to each problem: 1 decodes greedily, more sample at the rollout's temperature. */
  samples: wholeNumber({ minimum: 1 }).default(1),
});

/** Schema of a Tango run's configuration file. */
export const tangoConfigSchema = section({
  seed: seedSchema,
  gpu: gpuSchema,
  frozen_dtype: frozenDtypeSchema,
  memory_limit_gb: memoryLimitSchema,
  run_directory: runDirectorySchema,
  task: taskSchema.prefault({}),
  /** Files with problems instead of the embedded task. */
  data: dataSchema,
  generator: generatorSchema,
  /** null trains the generator alone (GRPO and its relatives). */
  verifier: verifierSchema.nullable(),
  rollout: rolloutSchema.prefault({}),
  loss: lossSchema.prefault({}),
  advantage: advantageSchema.prefault({}),
  rewards: rewardsSchema.prefault({}),
  class_reweighting: classReweightingSchema.prefault({}),
  schedule: scheduleSchema.prefault({}),
  evaluation: evaluationSchema.prefault({}),
  /** Solutions of each step whose texts, rewards and advantages go to samples.jsonl. */
  samples_per_step: wholeNumber({ minimum: 0 }).default(8),
}).check(checkTogether);

/** A Tango run's configuration with every default filled in. */
export type TangoConfig = z.output<typeof tangoConfigSchema>;

/** Settings that are possible alone and impossible together. */
function checkTogether({ value, issues }: z.core.ParsePayload<TangoConfigFields>): void {
  const impossible = (path: PropertyKey[], input: unknown, message: string) =>
    issues.push({ code: "custom", path, input, message });
  const { rollout, loss, advantage, schedule, verifier } = value;
  if (rollout.batch_size % loss.mini_batches !== 0) {
    impossible(
      ["loss", "mini_batches"],
      loss.mini_batches,
      `a divisor of rollout.batch_size, which is ${rollout.batch_size}`,
    );
  }
  if (advantage.estimator !== "reinforce++" && rollout.group_size < 2) {
    impossible(
      ["rollout", "group_size"],
      rollout.group_size,
      `at least 2, because advantage.estimator ${advantage.estimator} compares the responses of a group`,
    );
  }
  const { alpha } = advantage;
  const alphaFalls = alpha.initial > 0 && alpha.schedule !== "none";
  if (alphaFalls && alpha.minimum > alpha.initial) {
    impossible(
      ["advantage", "alpha", "minimum"],
      alpha.minimum,
      `at most advantage.alpha.initial, which is ${alpha.initial}`,
    );
  }
  if (alphaFalls && alpha.schedule === "exp" && alpha.minimum === 0) {
    impossible(
      ["advantage", "alpha", "minimum"],
      alpha.minimum,
      "greater than 0, because exp never reaches 0 (linear and cosine do)",
    );
  }
  for (const name of ["generator", "verifier"] as const) {
    const policy = value[name];
    if (!policy?.system_prompt || policy.chat) continue;
    impossible([name, "system_prompt"], policy.system_prompt, systemPromptNeedsChat);
  }
  if (verifier?.lora && !verifier.trained) {
    impossible(["verifier", "lora"], verifier.lora, "null, because verifier.trained is false");
  }
  if (schedule.keep_best && schedule.test_frequency === 0) {
    const message = "false, because with schedule.test_frequency 0 nothing is evaluated";
    impossible(["schedule", "keep_best"], true, message);
  }
  const longest = value.generator.max_response_length;
  if (value.rewards.overlong_buffer > longest) {
    impossible(
      ["rewards", "overlong_buffer"],
      value.rewards.overlong_buffer,
      `at most generator.max_response_length, which is ${longest}`,
    );
  }
  const trainsVerifier = verifier?.trained ?? false;
  if (schedule.generator_steps + (trainsVerifier ? schedule.verifier_steps : 0) === 0) {
    impossible(
      ["schedule", "generator_steps"],
      schedule.generator_steps,
      "at least 1, because nothing else would be trained",
    );
  }
  const warmup = schedule.generator_warmup_steps +
    (trainsVerifier ? schedule.verifier_warmup_steps : 0);
  if (warmup > schedule.total_training_steps) {
    impossible(
      ["schedule", "total_training_steps"],
      schedule.total_training_steps,
      `at least the ${warmup} warm-up steps`,
    );
  }
}

type TangoConfigFields = {
  generator: z.output<typeof generatorSchema>;
  rewards: z.output<typeof rewardsSchema>;
  rollout: z.output<typeof rolloutSchema>;
  loss: z.output<typeof lossSchema>;
  advantage: z.output<typeof advantageSchema>;
  schedule: z.output<typeof scheduleSchema>;
  verifier: z.output<typeof verifierSchema> | null;
};

/**
 * The configuration as it will run: without a verifier to train there are no verifier steps, so that one
 * switch (`verifier: null` or `verifier.trained: false`) is enough for the baselines.
 */
export function resolveTangoConfig(config: TangoConfig): TangoConfig {
  if (config.verifier?.trained) return config;
  return {
    ...config,
    schedule: { ...config.schedule, verifier_warmup_steps: 0, verifier_steps: 0 },
  };
}
