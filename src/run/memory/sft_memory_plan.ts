import { alone } from "../../distributed/communicator.ts";
import { gradientReducer } from "../../distributed/gradient_reducer.ts";
import { type Rank, rehearsedRank } from "../../distributed/rehearsed_rank.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import { cutByTokens } from "../../engine/training/micro_batches.ts";
import type { SupervisedSample } from "../../rl/update/supervised_update.ts";
import { anyNumbers } from "./any_numbers.ts";
import { type MemoryPlan, rehearsePhases, residentUses, shardSumUses } from "./memory_plan.ts";
import type { ModelConfig } from "../../model/decoder/config.ts";
import type { SftConfig } from "../config/sft_config_schema.ts";
import { SftRun } from "../sft/sft_run.ts";
import { halve, type Shrink } from "./shrink.ts";
import { loraSchema } from "../config/shared_schema.ts";

/**
 * GPU memory of a rank in fine-tuning, which is rehearsed on a GPU without memory and without the other
 * ranks.
 *
 * @param rank which of how many; by default a process by itself
 * @throws UserError when one of its buffers is larger than the device binds
 */
export async function planSftMemory(
  gpu: Gpu,
  config: SftConfig,
  rank: Rank = alone,
): Promise<MemoryPlan> {
  const rehearsal = gpu.rehearsal();
  // A single rank measures here: it samples as many at a time as each of several does.
  const run = await SftRun.open(rehearsal, config, alone, gradientReducer(rehearsedRank(rank)));
  try {
    const { trainer, reference } = run;
    const { model } = trainer;
    const some = examplesOf(config, [
      ...run.examples.some(examplesLookedAt),
      ...longestOwn(config, model.config),
    ]);
    const most = Math.min(trainer.options.microBatchTokens, model.tokensPerPass);
    return await rehearsePhases(
      rehearsal,
      residentUses([{ name: config.policy, model, reference, trainer }]),
      [
        {
          what: "training",
          run: async () => {
            for (const pass of fullestPasses(some, config.batch_size, most)) {
              // The pass as many times as there are shards, so that each shard makes it.
              const samples = Array.from({ length: config.reduction.shards }, () => pass).flat(2);
              await run.learn(samples, anyNumbers);
            }
          },
          among: shardSumUses(trainer),
        },
        ...(run.own === null ? [] : [{
          what: "sampling solutions to judge",
          run: () => run.own?.sample() ?? Promise.resolve(),
        }]),
        {
          what: "evaluating",
          run: async () => {
            await run.measurement.measure(0);
            const { measure_start, measure_end } = config.schedule;
            await run.measurement.measureLearnability(Math.max(measure_start, measure_end));
          },
        },
      ],
    );
  } finally {
    run.close();
  }
}

/** Examples as long as those of a generator's own solutions may be, which are not there yet: a batch of them. */
function longestOwn(
  { own_solutions, data, batch_size }: SftConfig,
  { maxPositions }: ModelConfig,
): SupervisedSample[] {
  if (own_solutions === null || data === null) return [];
  const { maximum_prompt_tokens, maximum_response_tokens } = data;
  const response = new Uint32Array(Math.min(maximum_response_tokens, maxPositions - 1));
  const prompt = new Uint32Array(Math.min(maximum_prompt_tokens, maxPositions - response.length));
  const weights = new Float32Array(response.length).fill(1);
  return new Array(batch_size).fill({ prompt, response, weights });
}

/** The samples of an example: one, or the two of a pair, which share their prompt. */
type Example = readonly SupervisedSample[];

function examplesOf(
  { preferences }: SftConfig,
  samples: readonly SupervisedSample[],
): readonly Example[] {
  if (preferences === null) return samples.map((sample) => [sample]);
  const pairs = Array.from({ length: samples.length / 2 }, (_, pair) => 2 * pair);
  return pairs.map((first) => samples.slice(first, first + 2));
}

/** Examples that stand for all. */
const examplesLookedAt = 512;

/**
 * The passes with the most tokens and with the most response tokens that batches of these examples are cut
 * into, as they come and with the longest ones together.
 */
function fullestPasses(
  examples: readonly Example[],
  batchSize: number,
  mostTokens: number,
): Example[][] {
  const responseLength = (example: Example) =>
    example.reduce((sum, { response }) => sum + response.length, 0);
  // The prompt's last token makes the first prediction of each response, and belongs to each.
  const length = (example: Example) =>
    example[0].prompt.length + example.length - 1 + responseLength(example);
  const longestFirst = examples.toSorted((a, b) => length(b) - length(a));
  const passes = [examples, longestFirst].flatMap((order) =>
    Array.from(
      { length: Math.ceil(order.length / batchSize) },
      (_, batch) => order.slice(batch * batchSize, (batch + 1) * batchSize),
    ).flatMap((batch) => cutByTokens(batch, length, mostTokens))
  );
  const fullestBy = (measure: (example: Example) => number) => {
    const total = (pass: readonly Example[]) =>
      pass.reduce((sum, example) => sum + measure(example), 0);
    return passes.reduce((fullest, pass) => total(pass) > total(fullest) ? pass : fullest);
  };
  return [fullestBy(length), fullestBy(responseLength)];
}

const microBatch = (least: number): Shrink<SftConfig> =>
  halve(
    "loss.micro_batch_tokens",
    least,
    ({ loss }) => loss.micro_batch_tokens,
    (config, micro_batch_tokens) => ({ ...config, loss: { ...config.loss, micro_batch_tokens } }),
  );

/** Where solutions or critiques are sampled at all. */
const decodeSlots: Shrink<SftConfig> = (config) => {
  const { data, own_solutions, schedule: { measure_start, measure_end } } = config;
  if (data !== null && measure_start + measure_end === 0 && own_solutions === null) return null;
  return fewerSlots(config);
};

const fewerSlots = halve<SftConfig>(
  "decode_slots",
  16,
  ({ decode_slots }) => decode_slots,
  (config, decode_slots) => ({ ...config, decode_slots }),
);

/** Changes that make fine-tuning smaller, those that cost least first. */
export const sftShrinks: readonly Shrink<SftConfig>[] = [
  microBatch(2048),
  decodeSlots,
  (config) =>
    config.loss.gradient_checkpointing ? null : {
      config: { ...config, loss: { ...config.loss, gradient_checkpointing: true } },
      set: { "loss.gradient_checkpointing": "true" },
    },
  microBatch(256),
  (config) =>
    config.trained_dtype !== "float32" || config.lora !== null ? null : {
      config: { ...config, trained_dtype: "bfloat16" },
      set: { trained_dtype: "bfloat16" },
    },
  (config) =>
    config.lora || config.initial_model === null ? null : {
      config: { ...config, lora: loraSchema.parse({}), trained_dtype: "float32" },
      set: { lora: "{rank: 16}", trained_dtype: "float32" },
    },
];
