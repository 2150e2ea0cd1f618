/** Parts that the configurations of Tango and of supervised fine-tuning share. */

import { z } from "zod";
import { chainsTask, MOST_CHAIN_STEPS } from "../../data/chains.ts";
import { cacheDtypes } from "../../gpu/tensor.ts";
import { loraTargets } from "../../model/decoder/lora.ts";
import { learningRateCourses } from "../../rl/schedule/learning_rate.ts";
import { flag, oneOf, realNumber, section, text, wholeNumber } from "./schema_fields.ts";

export const gpuSchema = oneOf(["auto", "native", "dawn"]).default("auto").describe(
  "Which engine runs the kernels; auto takes the native one, and Dawn where the precision takes matrix units.",
);

export const precisionSchema = oneOf(["auto", "f32", "f16", "f16-pair", "f32-matrix"]).default(
  "f32",
).describe(
  "What products with weights, and with f16 the gradients of weights trained whole, take of their factors: all of f32; f16, on matrix units; 21 bits as two f16, on matrix units too, at three times the work; or with f32-matrix all of f32 on matrix units that take it, as Apple's do and no others. auto takes f16 on a GPU whose products in it were checked at the start and found right, f32-matrix where there is no f16 and a product is faster so than in f32, else f32; the run's folder says which, and resuming keeps it. Sums are in f32. Matrix units take the Dawn engine.",
);

export const tuningSchema = oneOf(["measured", "default"]).default("measured").describe(
  "How each kernel's variant is chosen: measured on this device at the first start with such a model, in 20 seconds at most; or by what the device can do. It shows in the time a run takes, and in no bit.",
);

export const frozenDtypes = ["auto", "quantised", "float32", "float16", "bfloat16"] as const;
export type FrozenDtype = typeof frozenDtypes[number];

export const frozenDtypeSchema = oneOf(frozenDtypes)
  .default("auto").describe(
    "How matrices that are not trained are stored. quantised keeps a GGUF file's blocks of 4 and 8 bits without loss; auto keeps the file's format, quantised ones on a GPU in blocks and on a CPU in float16, which is faster there.",
  );

export const trainedDtypes = ["float32", "bfloat16", "float16"] as const;
export type TrainedDtype = typeof trainedDtypes[number];

export const trainedDtypeSchema = oneOf(trainedDtypes).default("float32").describe(
  "How matrices whose own weights are trained are stored. In 16 bits they take half the memory and half of what ranks send after an update: the model computes with them rounded, and each rank updates the f32 masters of its slice, which no other has. Adapters are trained in float32.",
);

export const referenceMemorySchema = oneOf(["gpu", "host"]).default("gpu").describe(
  "Where the weights lie that a policy began with and is compared with in a KL term, when all of its own are trained: on the GPU, or in host memory, from which they come before each step's updates, to where the gradients will lie. It shows in no bit where frozen_dtype rounds none of them. Beside an adapter they are its base, which is on the GPU anyway.",
);

export const cacheDtypeSchema = oneOf([...cacheDtypes]).default("f32").describe(
  "How keys and values, and the inputs of LFM2's and Qwen3.5's convolutions, are stored while sampling; f16 and bf16 take half the memory of f32. Training rounds them alike, so that a token keeps its log-prob. f16 has three more bits than bf16, and none for numbers beyond 65504, which become NaN: updates are then skipped.",
);

export const memoryLimitSchema = realNumber({ above: 0 }).nullable().default(null).describe(
  "GB (10⁹ bytes) of GPU memory that a run may take; null: what the device is known to have.",
);

export const microBatchTokensSchema = wholeNumber({ minimum: 1 }).default(8192).describe(
  "Tokens in one forward and backward pass: more is faster and takes more memory.",
);

export const keepCheckpointsSchema = wholeNumber({ minimum: 1 }).default(2).describe(
  "Newest checkpoints that are kept.",
);

export const gradientCheckpointingSchema = flag().default(false).describe(
  "Keeps each layer's input alone for the backward pass, which computes the rest again: less memory.",
);

/** Most shards of a batch. */
export const MOST_SHARDS = 1024;

/** How a batch's gradient is summed; see `TrainerOptions`. */
export const reductionSchema = section({
  shards: wholeNumber({ minimum: 1, maximum: MOST_SHARDS }).default(1).describe(
    "Shards, of whole prompts and about equally many tokens, that each update's batch is cut into. Their gradients are added over a fixed tree: with more than 1, neither `micro_batch_tokens` nor the number of processes that share them shows in a bit of the result. Takes the memory of log2(shards) more gradients. With 1 a run that begins on several ranks takes one for each that trains the same model, and keeps to them.",
  ),
});

/** How long ranks wait for one another; see `RunWatch`. */
export const distributedSchema = section({
  silence_seconds: realNumber({ minimum: 1 }).nullable().default(10).describe(
    "Seconds without a word from a rank after which it counts as gone, and the run ends on all; null: ranks do not watch each other.",
  ),
  wait_seconds: realNumber({ above: 0 }).default(86400).describe(
    "Seconds that a rank waits for a message of another one that lives and gets on, before the run ends on all: more than the longest phase of a step takes.",
  ),
  stall_seconds: realNumber({ above: 0 }).default(600).describe(
    "Seconds that a rank may wait for one answer of its GPU before the run ends on all.",
  ),
});

/** How long ranks wait for one another. */
export type DistributedConfig = z.output<typeof distributedSchema>;

export const seedSchema = wholeNumber({ minimum: 0, maximum: 2 ** 32 - 1 }).default(0).describe(
  "Seed of everything random: the same seed gives the same run.",
);

export const runDirectorySchema = text("the path of a folder, or null").nullable().default(null)
  .describe("Where the run's files go; null takes the next free numbered folder in runs/.");

/** Further files that a run writes its measurements to. */
export const reportSchema = section({
  tensorboard: flag().default(false).describe(
    "Also writes metrics and timings as event files for TensorBoard, into `tensorboard/` of the run's folder.",
  ),
});

/** The task that makes the problems, and how hard they are; null takes the task's own range. */
export const taskSchema = section({
  name: oneOf(["last-letter", "arithmetic", "chains"]).default("last-letter").describe(
    "The embedded task that makes the problems.",
  ),
  minimum_steps: wholeNumber({ minimum: 1 }).nullable().default(null).describe(
    "Steps of the easiest problem; null: the task's own range.",
  ),
  maximum_steps: wholeNumber({ minimum: 1 }).nullable().default(null).describe(
    "Steps of the hardest.",
  ),
  minimum_letters: wholeNumber({ minimum: 2, maximum: 20 }).nullable().default(null).describe(
    "last-letter only: letters of the shortest word; null: the task's own range.",
  ),
  maximum_letters: wholeNumber({ minimum: 2, maximum: 20 }).nullable().default(null).describe(
    "last-letter only: letters of the longest.",
  ),
  shuffled: flag().default(false).describe(
    "chains only: the sentences of a question stand in any order.",
  ),
  distractors: wholeNumber({ minimum: 0, maximum: MOST_CHAIN_STEPS - 1 }).default(0).describe(
    "chains only: sentences of each question that its answer does not need. A step about them is labelled wrong.",
  ),
}).check(({ value, issues }) => {
  const impossible = (key: keyof typeof value, message: string) =>
    issues.push({ code: "custom", path: [key], input: value[key], message });
  for (const what of ["steps", "letters"] as const) {
    const minimum = value[`minimum_${what}`];
    const maximum = value[`maximum_${what}`];
    if (minimum !== null && maximum !== null && maximum < minimum) {
      impossible(`maximum_${what}`, `at least task.minimum_${what}, which is ${minimum}`);
    }
  }
  const { name, shuffled, distractors } = value;
  for (const key of ["minimum_steps", "maximum_steps"] as const) {
    if (name === "chains" && (value[key] ?? 0) > MOST_CHAIN_STEPS) {
      impossible(key, `at most ${MOST_CHAIN_STEPS}, because the task chains has no more names`);
    }
  }
  const longest = value.maximum_steps ?? chainsTask.defaultDifficulty.maximumSteps;
  const names = Math.max(0, MOST_CHAIN_STEPS - longest);
  if (name === "chains" && distractors > names) {
    const message = `at most ${names}, because chains of ${longest} steps leave no more names`;
    impossible("distractors", message);
  }
  if (name !== "chains" && shuffled) {
    impossible("shuffled", `false, because a question of the task ${name} is one sentence`);
  }
  if (name !== "chains" && distractors > 0) {
    impossible("distractors", `0, because a question of the task ${name} is one sentence`);
  }
  for (const key of ["minimum_letters", "maximum_letters"] as const) {
    if (value[key] !== null && value.name !== "last-letter") {
      impossible(key, `null, because the task ${value.name} has no words`);
    }
  }
});

/** A task's configuration. */
export type TaskConfig = z.output<typeof taskSchema>;

/** Path of a prompt template. */
export const promptTemplateSchema = (file: string, description: string) =>
  text("the path of a Jinja text file").default(`configs/prompts/${file}`).describe(description);

/** How a prompt is said to the model. */
export const chatFields = {
  chat: flag().default(false).describe(
    "Says the prompt in the model's chat template, as the user's message.",
  ),
  system_prompt: text("a text, or null").nullable().default(null).describe(
    "What the model is told before it; only with `chat`.",
  ),
};

/** Expected value of a system prompt that no conversation would begin with. */
export const systemPromptNeedsChat = "null, because chat is false";

/** Expected value of `data.validation` where a key chooses weights by it. */
export const choosesByNothing = (key: string) =>
  `a list of files, or [] for a tenth of data.train, because ${key} chooses weights by it`;

/** Trains a low-rank adapter on weights that stay as they are; null trains all weights. */
export const loraSchema = section({
  rank: wholeNumber({ minimum: 4 }).default(16).describe(
    "Rank of the change to each projection.",
  ),
  alpha: realNumber({ above: 0 }).default(32).describe(
    "The change is multiplied by alpha / rank.",
  ),
  targets: z.array(oneOf([...loraTargets]), { error: `a list of ${loraTargets.join(", ")}` })
    .min(1, "at least one projection").default([...loraTargets]).describe(
      "Projections that are changed, by the names that most models have; where a model has others in their places, these: Phi-3 one for several, LFM2 out_proj, w1, w3 and w2, and in its convolutions in_proj for q_proj, k_proj and v_proj together, Qwen3.5 in its DeltaNets in_proj_qkv, in_proj_z, in_proj_b and in_proj_a for these, and out_proj for o_proj. In a model with experts gate_proj, up_proj and down_proj are each expert's too, the first two only together.",
    ),
}).check(({ value, issues }) => {
  if (value.rank % 4 !== 0) {
    const message = "a multiple of 4, as the kernels need";
    issues.push({ code: "custom", path: ["rank"], input: value.rank, message });
  }
}).nullable().default(null);

/** Keys whose defaults differ from the published values. */
type Published = {
  readonly [Key in "learning_rate" | "betas" | "warmup_share" | "schedule"]?: string;
};

/**
 * AdamW with gradient clipping and a learning-rate schedule.
 *
 * @param published what the published values are where the defaults are others
 */
function adamwSchema(learningRate: number, published: Published) {
  const words = (key: keyof Published, meaning: string) =>
    published[key] ? `${meaning}; ${published[key]}.` : `${meaning}.`;
  return section({
    learning_rate: realNumber({ above: 0 }).default(learningRate).describe(
      words("learning_rate", "Peak learning rate of AdamW"),
    ),
    betas: z.tuple([realNumber({ minimum: 0, below: 1 }), realNumber({ minimum: 0, below: 1 })], {
      error: "two numbers of at least 0 and less than 1",
    }).default([0.9, 0.999]).describe(
      words("betas", "Decay of the moving averages of the gradient and of its square"),
    ),
    epsilon: realNumber({ above: 0 }).default(1e-8).describe(
      "Added to the root of the second moment.",
    ),
    weight_decay: realNumber({ minimum: 0 }).default(0.01).describe(
      "Share of each weight that an update of learning rate 1 would take away.",
    ),
    max_gradient_norm: realNumber({ above: 0 }).default(1).describe(
      "The gradient of all weights together is scaled down to this norm.",
    ),
    maximum_skipped_updates: wholeNumber({ minimum: 1 }).default(3).describe(
      "An update whose gradient or log-probs are not finite is skipped; this many in a row end the run.",
    ),
    warmup_steps: wholeNumber({ minimum: 0 }).default(0).describe(
      "Updates over which the learning rate rises from 0.",
    ),
    warmup_share: realNumber({ minimum: 0, maximum: 1 }).default(0).describe(
      words(
        "warmup_share",
        "The same as a share of the policy's updates, the longer of the two holding",
      ),
    ),
    schedule: oneOf(learningRateCourses).default("constant").describe(
      words(
        "schedule",
        "After the warm-up: constant, or down to `final_share` of it after the policy's last step, in a line, by a cosine, or exponentially (exp(−5·progress), as the reference has it)",
      ),
    ),
    final_share: realNumber({ minimum: 0, maximum: 1 }).default(0).describe(
      "Share of the learning rate that a falling one comes down to; 0.1 in the reference.",
    ),
  }).check(({ value, issues }) => {
    if (value.schedule !== "constant" || value.final_share === 0) return;
    const message = "0, because the learning rate stays as it is (schedule: constant)";
    issues.push({ code: "custom", path: ["final_share"], input: value.final_share, message });
  });
}

/** A policy's optimizer in training. */
export const optimizerSchema = adamwSchema(1e-4, { learning_rate: "1e-6 in the published run" });

/** The optimizer of fine-tuning. */
export const sftOptimizerSchema = adamwSchema(2e-3, {
  learning_rate: "5e-6 in the published fine-tuning",
  betas: "0.9 and 0.95 in the published fine-tuning",
  warmup_share: "0.1 in the published fine-tuning",
  schedule: "cosine in the published fine-tuning",
});
