/**
 * The parts of a Tango run's configuration. A default is the published run's value (arXiv 2505.15034) unless
 * the key's words say what that run had: such a default serves the embedded tasks, or a single machine.
 */

import { z } from "zod";
import { flag, oneOf, realNumber, section, text, wholeNumber } from "./schema_fields.ts";
import {
  chatFields,
  gradientCheckpointingSchema,
  keepCheckpointsSchema,
  loraSchema,
  microBatchTokensSchema,
  optimizerSchema,
  promptTemplateSchema,
} from "./shared_schema.ts";

const MODEL_PATH =
  "the path of a folder with model.safetensors, config.json and tokenizer.json, or of a .gguf file";

/** The model that solves problems. */
export const generatorSchema = section({
  model: text(MODEL_PATH).describe(
    "Starting weights, also the frozen reference.",
  ),
  lora: loraSchema.describe(
    "Trains a low-rank adapter (LoRA) on weights that stay as they are; null: all weights are trained.",
  ),
  trained: flag().default(true).describe(
    "false keeps the generator as it is: verifier steps alone are made.",
  ),
  max_response_length: wholeNumber({ minimum: 1 }).default(128).describe(
    "Tokens after which a response is cut off; 2048 in the published run.",
  ),
  prompt_template: promptTemplateSchema(
    "generator.txt",
    "Jinja text of the prompt; uses `question`.",
  ),
  ...chatFields,
  optimizer: optimizerSchema.prefault({}),
  kl_coefficient: realNumber({ minimum: 0 }).nullable().default(null).describe(
    "`loss.kl_coefficient` for the generator alone; null: as there.",
  ),
});

/** The model that judges solutions. */
export const verifierSchema = section({
  model: text(MODEL_PATH).describe(
    "Starting weights, also the frozen reference.",
  ),
  kind: oneOf(["generative", "outcome", "implicit"]).default("generative").describe(
    "What it is: `generative` writes critiques, as published; the others are reward models, which write nothing and learn from outcomes by cross-entropy: `outcome` (ORM) by the probability that it would answer CORRECT at once, `implicit` (PRIME) by how much likelier than its reference it finds each token of the solution. `rewards.verifier_*` pay critiques alone.",
  ),
  beta: realNumber({ above: 0 }).default(0.05).describe(
    "With kind implicit: β in a token's reward β·(log π − log π_ref).",
  ),
  reference: text(MODEL_PATH + ", or null").nullable().default(null).describe(
    "With kind implicit: the model that π_ref is; null: the starting weights.",
  ),
  lora: loraSchema.describe(
    "Trains a low-rank adapter (LoRA) on weights that stay as they are; null: all weights are trained.",
  ),
  trained: flag().default(true).describe(
    "false keeps the verifier as it is: the paper's frozen-verifier baseline.",
  ),
  max_response_length: wholeNumber({ minimum: 1 }).default(192).describe(
    "Tokens after which a response is cut off; 4096 in the published run. Reward models write none.",
  ),
  prompt_template: promptTemplateSchema(
    "verifier.txt",
    "Jinja text of the prompt; uses `question`, `solution` and `steps`, their number. An `implicit` verifier reads the generator's prompt instead, in its chat template or not.",
  ),
  maximum_prompt_tokens: wholeNumber({ minimum: 1 }).nullable().default(null).describe(
    "A solution that makes a prompt longer loses its end; null: as many tokens as the model's positions leave beside a response. 4096 in the published run.",
  ),
  ...chatFields,
  optimizer: optimizerSchema.prefault({}),
  kl_coefficient: realNumber({ minimum: 0 }).nullable().default(null).describe(
    "`loss.kl_coefficient` for the verifier alone; null: as there.",
  ),
});

/** How responses are drawn. */
export const rolloutSchema = section({
  batch_size: wholeNumber({ minimum: 1 }).default(32).describe(
    "Problems in a step (B); 256 in the published run.",
  ),
  group_size: wholeNumber({ minimum: 1 }).default(5).describe(
    "Responses that are compared with each other (n).",
  ),
  maximum_generation_batches: wholeNumber({ minimum: 1 }).default(1).describe(
    "Batches that a generator step may sample until `batch_size` groups have unequal rewards (DAPO's dynamic sampling); 1 takes the first as it is.",
  ),
  verifications_per_solution: wholeNumber({ minimum: 1 }).default(1).describe(
    "Critiques of each solution in a generator step (m); their rewards are averaged.",
  ),
  critiques: wholeNumber({ minimum: 1 }).nullable().default(null).describe(
    "Critiques of each solution in a verifier step, which are compared with each other; null: `group_size`, as published.",
  ),
  candidates: wholeNumber({ minimum: 1 }).default(1).describe(
    "Solutions of each problem that a verifier step samples. Of more than 1 it judges a right and a wrong one of each problem that has both, as far as `batch_size` goes, and one of others; a reward model learns from all of them.",
  ),
  temperature: realNumber({ above: 0 }).default(1).describe(
    "Responses are sampled from softmax(logits / temperature).",
  ),
  critique_temperature: realNumber({ above: 0 }).nullable().default(null).describe(
    "That of critiques; null: `temperature`, as of solutions.",
  ),
  judging_temperature: realNumber({ minimum: 0 }).nullable().default(null).describe(
    "That of the critiques that generator steps go by; 0 takes the likeliest tokens, null the same as of other critiques.",
  ),
  top_k: wholeNumber({ minimum: 0 }).default(0).describe(
    "Only the k likeliest tokens are sampled from; 0 means all.",
  ),
  top_p: realNumber({ above: 0, maximum: 1 }).default(1).describe(
    "Only the likeliest tokens that together have this probability; 1 means all.",
  ),
  min_p: realNumber({ minimum: 0, below: 1 }).default(0).describe(
    "Only tokens at least this fraction as likely as the likeliest; 0 means all.",
  ),
  decode_slots: wholeNumber({ minimum: 1 }).default(160).describe(
    "Sequences decoded at once; finished ones make room for waiting ones.",
  ),
  steps_between_readbacks: wholeNumber({ minimum: 1 }).default(16).describe(
    "Tokens decoded on the GPU between two looks at which sequences have finished.",
  ),
});

/** k1's gradient is that of a log-prob, and the mean of that over what a policy samples is 0. */
const klEstimatorSchema = z.enum(["k2", "k3"], {
  error: ({ input }) =>
    input === "k1"
      ? "k2 or k3, because the gradient of k1 is 0 on average, wherever the reference is: it only adds noise"
      : "one of k2, k3",
});

/** The loss of an update, and how a batch is cut. */
export const lossSchema = section({
  objective: oneOf(["ppo", "gspo", "cispo"]).default("ppo").describe(
    "`ppo` clips each token's ratio, `gspo` each sequence's, `cispo` clips the weight of its gradient.",
  ),
  aggregation: oneOf(["token-mean", "sequence-mean", "sequence-sum"]).default("token-mean")
    .describe(
      "How the tokens' losses become one: over all tokens, or over sequences by their mean or their sum.",
    ),
  mask_truncated: flag().default(false).describe(
    "Leaves responses that were cut off out of the loss.",
  ),
  drop_zero_std: flag().default(false).describe(
    "Leaves groups whose rewards are all equal, so that their advantages are 0, out of the loss and of its mean. They are not computed then, as responses of no advantage are not where KL and entropy coefficient are 0.",
  ),
  clip_ratio_low: realNumber({ minimum: 0, maximum: 1 }).default(0.2).describe(
    "The probability ratio is clipped to 1 − low … 1 + high.",
  ),
  clip_ratio_high: realNumber({ minimum: 0 }).default(0.2).describe(
    "The upper side of the clip; DAPO takes 0.28.",
  ),
  kl_coefficient: realNumber({ minimum: 0 }).default(0.001).describe(
    "Weight of the divergence from the starting weights; with 0 they are not kept as a reference.",
  ),
  kl_estimator: klEstimatorSchema.default("k3").describe(
    "How the divergence is estimated from the sampled tokens.",
  ),
  entropy_coefficient: realNumber({ minimum: 0 }).default(0.001).describe(
    "Weight of the entropy bonus.",
  ),
  mini_batches: wholeNumber({ minimum: 1 }).default(1).describe(
    "Optimizer updates that the groups of a batch that are learned from are cut into; fewer where there are fewer.",
  ),
  epochs: wholeNumber({ minimum: 1 }).default(1).describe(
    "Times that each batch is gone through.",
  ),
  share_prompts: flag().default(true).describe(
    "The responses to a prompt compute it once; a pass then holds all of them or none.",
  ),
  micro_batch_tokens: microBatchTokensSchema,
  gradient_checkpointing: gradientCheckpointingSchema,
});

const alphaSchema = section({
  initial: realNumber({ minimum: 0, maximum: 1 }).default(0.1).describe(
    "α at the first of these steps.",
  ),
  minimum: realNumber({ minimum: 0, maximum: 1 }).default(0.001).describe(
    "α at the last.",
  ),
  schedule: oneOf(["exp", "linear", "cosine", "none", "earned"]).default("exp").describe(
    "How α falls over the generator's steps after its warm-up; `none` keeps the first, `earned` takes as much of it as the step judgments are better than chance about outcomes.",
  ),
  decay_fraction: realNumber({ above: 0, maximum: 1 }).default(1).describe(
    "With exp: the share of the generator's steps after which the minimum is reached.",
  ),
});

/** How rewards become advantages. */
export const advantageSchema = section({
  estimator: oneOf(["grpo", "dr_grpo", "rloo", "reinforce++"]).default("grpo").describe(
    "How rewards become advantages: against the group's mean and deviation, its mean, the others' mean, or the batch.",
  ),
  alpha: alphaSchema.prefault({}).describe(
    "α: the share of the process advantage in the generator's advantage.",
  ),
  process: oneOf([
    "sum-to-go",
    "own-step",
    "until-error",
    "first-error",
    "first-error-soft",
    "token-to-go",
  ])
    .default("sum-to-go").describe(
      "What a token gets of the steps: as published, the sum of those that end at or after it; the judgment of its own; the same up to and with the first flagged one, nothing after it; or the outcome advantage, in wrong solutions from the first flagged step on alone (`-soft`: by the critiques' share). `token-to-go` goes with `verifier.kind: implicit`, whose rewards are of tokens: the sum from a token on.",
    ),
  normalisation: oneOf(["separate", "merged"]).default("separate").describe(
    "Whether outcome and process advantages are each standardised and then mixed by α, as published, or rewards are mixed first and standardised together, over the group's steps.",
  ),
  judgments: oneOf(["verifier", "permuted", "constant", "oracle", "prefix"]).default("verifier")
    .describe(
      "Who judges the steps: the verifier; the same, of whole solutions, dealt out at random among the batch's solutions of as many steps; nobody, all are CORRECT; the task's true labels; or with `prefix` the generator itself, which goes on from their ends: a step's judgment is by how much it changes the share of right answers (VinePPO). The last three need no verifier.",
    ),
  judged: oneOf(["all", "wrong"]).default("all").describe(
    "Solutions that the verifier judges in generator steps: `all`, as published, or, at less cost, the `wrong` ones alone; the steps of a right one then count as CORRECT, and what `earned` goes by is measured in verifier steps, but for a frozen verifier, which judges all then.",
  ),
  oracle_accuracy: realNumber({ above: 0.5, maximum: 1 }).default(1).describe(
    "With judgments oracle: the share of true labels that are told as they are.",
  ),
  outcome_weight: realNumber({ minimum: 0 }).default(1).describe(
    "Weight of the outcome advantage.",
  ),
  process_weight: realNumber({ minimum: 0 }).default(1).describe(
    "Weight of the process advantage.",
  ),
});

/** Rewards of responses. */
export const rewardsSchema = section({
  module: text("the path of a TypeScript module, or null").nullable().default(null).describe(
    "A TypeScript module whose default export gives a solution's reward instead of its correctness.",
  ),
  ground_truth_weight: realNumber({ minimum: 0, maximum: 1 }).default(1).describe(
    "w in w·correct + (1 − w)·verdict, the generator's outcome reward; a reward model's verdict is its P(right).",
  ),
  generator_format_weight: realNumber({ minimum: 0 }).default(0).describe(
    "Weight of the generator's format score.",
  ),
  minimum_steps: wholeNumber({ minimum: 0 }).default(3).describe(
    "Steps below which the generator's format score is lowered.",
  ),
  overlong_buffer: wholeNumber({ minimum: 0 }).default(0).describe(
    "Tokens below the longest length from which on a solution's reward is lowered; 0: none is.",
  ),
  overlong_penalty: realNumber({ minimum: 0 }).default(1).describe(
    "What a solution of the longest length loses.",
  ),
  verifier_correctness_weight: realNumber({ minimum: 0 }).default(1).describe(
    "Weight of a right verdict.",
  ),
  verifier_format_weight: realNumber({ minimum: 0 }).default(0.8).describe(
    "Weight of the verifier's format score.",
  ),
  verifier_judgment: oneOf(["final", "conjunction", "both"]).default("final").describe(
    "The judgment of a solution that is paid when it is right: the `final` verdict, as in the published run, the `conjunction` of the step judgments (all of them CORRECT), or the mean of `both`. A critique without it earns nothing.",
  ),
  verifier_steps: oneOf(["none", "outcome", "prefix"]).default("none").describe(
    "Whether step judgments are paid themselves: `none`, as in the published run; with `outcome` each for saying whether the solution's answer is right; with `prefix` for telling from which steps' ends the generator still comes to a right answer.",
  ),
  prefix_continuations: wholeNumber({ minimum: 1 }).default(4).describe(
    "With `verifier_steps` or `advantage.judgments` `prefix`: continuations that the generator samples from the end of each step. For `verifier_steps` the solution itself counts as one more; `advantage.judgments` needs none from the last step's end.",
  ),
  verifier_step_weight: realNumber({ minimum: 0, maximum: 1 }).default(0.5).describe(
    "With `outcome` and `prefix`: the share of a step judgment's own advantage in the advantage of its tokens; that of the whole critique has the rest, and all of the other tokens.",
  ),
});

/** Class weights that make up for unequal classes in the verifier's advantages. */
export const classReweightingSchema = section({
  method: oneOf(["sqrt_inverse", "inverse", "none"]).default("sqrt_inverse").describe(
    "How the verifier's advantages make up for unequal numbers of right and wrong solutions.",
  ),
  decay: realNumber({ minimum: 0, below: 1 }).default(0.8).describe(
    "Decay of the moving averages of the class counts.",
  ),
  scale: oneOf(["batch", "average"]).default("batch").describe(
    "Where the mean of the weights is 1: over each `batch`, so that in one without a right solution all weigh 1, as in the published run, or over solutions as the moving `average` counts them.",
  ),
  pool: wholeNumber({ minimum: 0 }).default(0).describe(
    "Solutions of generator steps since the last verifier step that are kept at most, the newest: a verifier step judges these, as many right as wrong as far as there are enough, and samples fresh ones only where `rollout.batch_size` (of a reward model that times `rollout.candidates`) is not reached; 0: all are fresh, as in the published run.",
  ),
});

/** Which policy is trained when, and what is measured and kept. */
export const scheduleSchema = section({
  generator_warmup_steps: wholeNumber({ minimum: 0 }).default(0).describe(
    "Generator steps at the start, with the rule-based reward alone.",
  ),
  verifier_warmup_steps: wholeNumber({ minimum: 0 }).default(0).describe(
    "Verifier steps after those; 40 in the published run.",
  ),
  generator_steps: wholeNumber({ minimum: 0 }).default(3).describe(
    "Then cycles of this many generator steps …",
  ),
  verifier_steps: wholeNumber({ minimum: 0 }).default(1).describe(
    "… and this many verifier steps.",
  ),
  total_training_steps: wholeNumber({ minimum: 1 }).default(100).describe(
    "All steps together, warm-ups included; fewer than the warm-ups' cut the schedule short. 440 in the " +
      "published run.",
  ),
  test_frequency: wholeNumber({ minimum: 0 }).default(10).describe(
    "Generator steps between two evaluations, verifier steps where `generator_steps` is 0; 0 switches evaluation off.",
  ),
  measure_start: wholeNumber({ minimum: 0 }).default(0).describe(
    "Held-out problems (as far as evaluations have so many) of which the first evaluation, where there is one, has a generator that is trained sample 8 solutions each as in a rollout: pass@1, pass@8 and how many have both right and wrong ones, with a warning where there is next to nothing to learn from; 0: none.",
  ),
  save_frequency: wholeNumber({ minimum: 0 }).default(25).describe(
    "The same between two checkpoints; 0 saves at the end and when stopped only. 50 in the published run.",
  ),
  keep_checkpoints: keepCheckpointsSchema,
  keep_best: flag().default(false).describe(
    "Keeps the weights with the best generator accuracy on the validation part in the run folder's best/.",
  ),
});

/** Problems that evaluations measure on. */
export const evaluationSchema = section({
  problems: wholeNumber({ minimum: 1 }).nullable().default(256).describe(
    "Held-out problems, and as many to choose weights by; null: all that the files hold, as in the published run.",
  ),
  seed: wholeNumber({ minimum: 0, maximum: 2 ** 32 - 1 }).default(20250521).describe(
    "Seed of the held-out problems, the same for every run that is to be compared.",
  ),
  samples: wholeNumber({ minimum: 1 }).default(1).describe(
    "Responses to each problem: 1 decodes greedily, more sample at the rollout's temperature.",
  ),
});
