/** The configuration of supervised fine-tuning, which makes the warm-start weights. */

import { z } from "zod";
import { exampleDataSchema } from "./data_schema.ts";
import { flag, oneOf, realNumber, section, text, wholeNumber } from "./schema_fields.ts";
import {
  cacheDtypeSchema,
  chatFields,
  choosesByNothing,
  distributedSchema,
  frozenDtypeSchema,
  gpuSchema,
  gradientCheckpointingSchema,
  keepCheckpointsSchema,
  loraSchema,
  memoryLimitSchema,
  microBatchTokensSchema,
  precisionSchema,
  reductionSchema,
  reportSchema,
  runDirectorySchema,
  seedSchema,
  sftOptimizerSchema,
  systemPromptNeedsChat,
  taskSchema,
  trainedDtypeSchema,
  tuningSchema,
} from "./shared_schema.ts";

/** A new model of random weights: the shape of a small Llama decoder. */
const architectureSchema = section({
  hidden_size: wholeNumber({ minimum: 8 }).default(64).describe("Width of the residual stream."),
  layers: wholeNumber({ minimum: 1 }).default(3).describe("Decoder layers."),
  attention_heads: wholeNumber({ minimum: 1 }).default(4).describe("Query heads of a layer."),
  key_value_heads: wholeNumber({ minimum: 1 }).default(2).describe(
    "Key and value heads of a layer; divides `attention_heads`.",
  ),
  intermediate_size: wholeNumber({ minimum: 8 }).default(192).describe(
    "Width of the feed-forward layers.",
  ),
  max_position_embeddings: wholeNumber({ minimum: 16 }).default(512).describe(
    "Longest sequence, prompt and response together, in tokens.",
  ),
  rope_theta: realNumber({ above: 0 }).default(10000).describe("Base of the rotary frequencies."),
  initial_deviation: realNumber({ above: 0 }).default(0.05).describe(
    "Standard deviation of the random weights.",
  ),
}).check(({ value, issues }) => {
  const impossible = (key: keyof typeof value, message: string) =>
    issues.push({ code: "custom", path: [key], input: value[key], message });
  if (value.hidden_size % (8 * value.attention_heads) !== 0) {
    impossible(
      "hidden_size",
      `a multiple of ${
        8 * value.attention_heads
      } (8 × attention_heads: the kernels need heads of a multiple of 8)`,
    );
  }
  if (value.intermediate_size % 4 !== 0) {
    impossible("intermediate_size", "a multiple of 4, which the kernels need");
  }
  if (value.attention_heads % value.key_value_heads !== 0) {
    impossible(
      "key_value_heads",
      `a divisor of attention_heads, which is ${value.attention_heads}`,
    );
  }
});

/** How a batch is cut. */
const lossSchema = section({
  micro_batch_tokens: microBatchTokensSchema,
  gradient_checkpointing: gradientCheckpointingSchema,
});

/** Pairs of responses instead of responses to imitate. */
const preferencesSchema = section({
  beta: realNumber({ above: 0 }).default(0.1).describe(
    "What a difference of log-probs counts: a response's reward is beta · (log π − log π_ref) of all its tokens. " +
      "The smaller, the further the model goes from its start.",
  ),
}).nullable().default(null);

/** How long is trained, and what is measured and kept. */
const scheduleSchema = section({
  total_training_steps: wholeNumber({ minimum: 1 }).default(1000).describe(
    "Updates, unless stopped earlier.",
  ),
  epochs: realNumber({ above: 0 }).nullable().default(null).describe(
    "Stops earlier, after as many updates as the files' records make in so many passes; null: after `total_training_steps`. 2 in the published fine-tuning.",
  ),
  measure_start: wholeNumber({ minimum: 0 }).default(0).describe(
    "As `measure_end`, in the evaluation before the first update: what the model can do by itself.",
  ),
  measure_end: wholeNumber({ minimum: 0 }).default(0).describe(
    "For a generator: held-out problems (as far as evaluations have so many) of which the last evaluation samples 8 solutions each: whether reinforcement learning would have something to learn from, as `schedule.measure_start` of a run; 0: none.",
  ),
  measure_temperature: realNumber({ above: 0 }).default(1).describe(
    "Of those samples: that of the reinforcement learning to come, `rollout.temperature`.",
  ),
  stop_at_accuracy: realNumber({ above: 0, maximum: 1 }).default(1).describe(
    "Training ends at the first evaluation that reaches this accuracy on the validation part; 1 trains to the end.",
  ),
  test_frequency: wholeNumber({ minimum: 1 }).default(20).describe(
    "Updates between two evaluations.",
  ),
  save_frequency: wholeNumber({ minimum: 0 }).default(100).describe(
    "Updates between two checkpoints; 0 saves at the end and when stopped only.",
  ),
  keep_checkpoints: keepCheckpointsSchema,
  keep_best: flag().default(false).describe(
    "Keeps the weights that do best on the validation part in the run folder's best/.",
  ),
});

/** A generator whose own mistakes are judged, besides those that are made up. */
const ownSolutionsSchema = section({
  model: text("the path of a model folder or .gguf file").describe(
    "Generator that solves the problems: a model or an adapter.",
  ),
  prompt_template: text("the path of a Jinja text file").default("configs/prompts/generator.txt")
    .describe("Jinja text of its prompt."),
  chat: flag().default(false).describe(
    "Whether it is asked in a conversation, without a system prompt of its own.",
  ),
  max_response_length: wholeNumber({ minimum: 1 }).default(192).describe(
    "Tokens after which its solutions are cut off.",
  ),
  problems: wholeNumber({ minimum: 1 }).default(256).describe(
    "Training problems that it solves: those that come first.",
  ),
  samples: wholeNumber({ minimum: 1 }).default(2).describe("Solutions of each."),
  temperature: realNumber({ above: 0 }).default(1).describe("Of these samples."),
}).nullable().default(null);

/** Schema of a fine-tuning configuration file. */
export const sftConfigSchema = section({
  seed: seedSchema,
  gpu: gpuSchema,
  precision: precisionSchema,
  tuning: tuningSchema,
  frozen_dtype: frozenDtypeSchema,
  trained_dtype: trainedDtypeSchema,
  cache_dtype: cacheDtypeSchema,
  memory_limit_gb: memoryLimitSchema,
  run_directory: runDirectorySchema,
  task: taskSchema.prefault({}),
  data: exampleDataSchema.describe(
    "Files with examples instead of the embedded task's.",
  ),
  policy: oneOf(["generator", "verifier"]).describe(
    "What is imitated: correct solutions (or responses as they are written), or critiques of corrupted ones.",
  ),
  initial_model: text(
    "the path of a folder with model.safetensors, config.json and tokenizer.json, or null",
  ).nullable().default(null).describe(
    "Weights to begin with; null begins with a random model of `architecture`.",
  ),
  tokenizer: text("the path of a tokenizer.json, of a folder with one, or null").nullable().default(
    null,
  ).describe(
    "Tokenizer of a random model, with the `tokenizer_config.json` beside it; null: the characters that the embedded tasks are made of.",
  ),
  architecture: architectureSchema.prefault({}),
  lora: loraSchema.describe(
    "Only with `initial_model`.",
  ),
  output_directory: text("the path of a folder, or null").nullable().default(null).describe(
    "Folder that receives the trained weights; null leaves them in the run folder.",
  ),
  preferences: preferencesSchema.describe(
    "Direct preference optimisation (arXiv 2305.18290) on files whose rows have a better response (column `solution`, " +
      "or `chosen`) and a worse one (`rejected`): the better one is made likelier than the worse, beside the model " +
      "as it began. null: responses are imitated.",
  ),
  batch_size: wholeNumber({ minimum: 1 }).default(64).describe(
    "Examples in an update; with `preferences`, pairs.",
  ),
  optimizer: sftOptimizerSchema.prefault({}),
  loss: lossSchema.prefault({}),
  reduction: reductionSchema.prefault({}),
  distributed: distributedSchema.prefault({}),
  schedule: scheduleSchema.prefault({}),
  evaluation: section({
    problems: wholeNumber({ minimum: 1 }).default(256).describe(
      "Held-out problems.",
    ),
    seed: wholeNumber({ minimum: 0, maximum: 2 ** 32 - 1 }).default(20250522).describe(
      "Seed of the held-out problems.",
    ),
  }).prefault({}),
  report: reportSchema.prefault({}),
  max_response_length: wholeNumber({ minimum: 1 }).default(192).describe(
    "Tokens after which a response is cut off when solutions or critiques are sampled to be measured.",
  ),
  decode_slots: wholeNumber({ minimum: 1 }).default(256).describe(
    "Of these, and of `own_solutions`, as many are decoded at once.",
  ),
  prompt_template: text("the path of a Jinja text file, or null").nullable().default(null).describe(
    "Jinja text of the prompt; null: `configs/prompts/generator.txt` or `configs/prompts/verifier.txt`, by `policy`.",
  ),
  ...chatFields,
  correct_share: realNumber({ minimum: 0, maximum: 1 }).default(0.5).describe(
    "Verifier only: the share of the solutions to be judged that are correct; the others are corrupted.",
  ),
  judgment_weight: realNumber({ minimum: 0 }).default(1).describe(
    "Verifier only: what each token of a judgment counts in the loss; any other token counts 1.",
  ),
  judgment_labels: oneOf(["gold", "coin_flip"]).default("gold").describe(
    "Verifier only: `gold` imitates true judgments of steps and answers; `coin_flip` judgments that know " +
      "nothing of the solution, all CORRECT exactly where the verdict is, in critiques that are right otherwise.",
  ),
  critiques: oneOf(["judgments", "worked"]).default("judgments").describe(
    "Verifier on files only: what a critique says of a step. `judgments`: nothing but the judgment, on solutions with " +
      "a number off by at most 9; `worked`: the right step and the number that the solution claims, on solutions with " +
      "also a wrong operation, a wrong operand, a step left out, or an answer that does not follow.",
  ),
  own_solutions: ownSolutionsSchema.describe(
    "With critiques worked: a generator that solves some of the training problems first; its own solutions then stand " +
      "in the place of the file's and of made-up mistakes.",
  ),
}).check(({ value, issues }) => {
  if (value.own_solutions !== null && value.critiques !== "worked") {
    const message = "null, because critiques of a generator's own solutions are worked ones " +
      "(critiques: worked, of a verifier on files)";
    issues.push({ code: "custom", path: ["own_solutions"], input: value.own_solutions, message });
  }
  if (value.critiques === "worked" && (value.data === null || value.policy !== "verifier")) {
    const message = value.data === null
      ? "judgments, because an embedded task's critiques hold work anyway"
      : "judgments, because the policy is the generator";
    issues.push({ code: "custom", path: ["critiques"], input: value.critiques, message });
  }
  if (value.lora !== null && value.initial_model === null) {
    const message = "null, because there is no initial_model whose weights could stay as they are";
    issues.push({ code: "custom", path: ["lora"], input: value.lora, message });
  }
  if (value.lora !== null && value.trained_dtype !== "float32") {
    const message = "float32, because lora trains an adapter, and no matrix of the model";
    issues.push({ code: "custom", path: ["trained_dtype"], input: value.trained_dtype, message });
  }
  if (value.preferences !== null) {
    const missing = value.data === null
      ? "null, because an embedded task has no pairs of responses; name files with data"
      : value.policy === "verifier"
      ? "null, because the policy is the verifier, whose critiques are made up and not paired"
      : value.initial_model === null
      ? "null, because a model of random weights has nothing to stay near to; name one with initial_model"
      : value.data.response === "steps"
      ? "null, because data.response is steps, and a rejected response is taken as it is written"
      : null;
    if (missing !== null) {
      const { preferences: input } = value;
      issues.push({ code: "custom", path: ["preferences"], input, message: missing });
    }
  }
  if (value.system_prompt !== null && !value.chat) {
    const { system_prompt: input } = value;
    issues.push({ code: "custom", path: ["system_prompt"], input, message: systemPromptNeedsChat });
  }
  if (value.data !== null && value.initial_model === null && value.tokenizer === null) {
    const message =
      "a model, or null with tokenizer (a tokenizer.json) and architecture for a new one, because examples from files " +
      "need more than the embedded tasks' characters";
    issues.push({ code: "custom", path: ["initial_model"], input: null, message });
  }
  if (value.initial_model !== null && value.tokenizer !== null) {
    const message = "null, because initial_model has its own";
    issues.push({ code: "custom", path: ["tokenizer"], input: value.tokenizer, message });
  }
  const { epochs, stop_at_accuracy } = value.schedule;
  if (value.data === null && epochs !== null) {
    const message = "null, because an embedded task never ends";
    issues.push({ code: "custom", path: ["schedule", "epochs"], input: epochs, message });
  }
  if (value.schedule.keep_best && value.data?.validation === null) {
    const message = choosesByNothing("schedule.keep_best");
    issues.push({ code: "custom", path: ["data", "validation"], input: null, message });
  }
  for (const key of ["measure_start", "measure_end"] as const) {
    const input = value.schedule[key];
    if (input === 0 || value.policy === "generator") continue;
    const message = "0, because only a generator's solutions are sampled";
    issues.push({ code: "custom", path: ["schedule", key], input, message });
  }
  if (value.data !== null && stop_at_accuracy < 1) {
    const message = "1, because on files the loss is measured and no accuracy";
    const path = ["schedule", "stop_at_accuracy"];
    issues.push({ code: "custom", path, input: stop_at_accuracy, message });
  }
});

/** A fine-tuning configuration with every default filled in. */
export type SftConfig = z.output<typeof sftConfigSchema>;

/** Whether an evaluation decides which weights are kept: such a one is made on problems of its own. */
export function choosesWeights({ schedule }: SftConfig): boolean {
  return schedule.keep_best || schedule.stop_at_accuracy < 1;
}

/** The path of the policy's prompt template. */
export function promptTemplatePath({ policy, prompt_template }: SftConfig): string {
  return prompt_template ?? `configs/prompts/${policy}.txt`;
}

/** Where the judgments in the critiques to imitate come from. */
export type JudgmentLabels = SftConfig["judgment_labels"];

/** What a critique of a solution from files says of each step. */
export type CritiqueForm = SftConfig["critiques"];

/** The generator whose own mistakes are judged. */
export type OwnSolutionsConfig = NonNullable<SftConfig["own_solutions"]>;
