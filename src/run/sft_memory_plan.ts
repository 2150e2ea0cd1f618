import type { Gpu } from "../gpu/gpu.ts";
import type { Model } from "../model/model.ts";
import { type SupervisedSample, updateSupervised } from "../rl/supervised_update.ts";
import { type MemoryPlan, rehearsePhases, residentUses } from "./memory_plan.ts";
import type { SftConfig } from "./sft_config_schema.ts";
import { lengthRange, SftRun } from "./sft_run.ts";
import type { Shrink } from "./memory_check.ts";
import { loraSchema } from "./shared_schema.ts";

/**
 * What fine-tuning takes of the GPU's memory; it is rehearsed on a GPU without memory.
 *
 * @throws UserError when one of its buffers is larger than the device binds
 */
export async function planSftMemory(gpu: Gpu, config: SftConfig): Promise<MemoryPlan> {
  const rehearsal = gpu.rehearsal();
  const run = await SftRun.open(rehearsal, config);
  try {
    const { model, optimizer, passes } = run;
    const some = run.examples.some(examplesLookedAt);
    const prompt = lengthRange(some, "prompt"), response = lengthRange(some, "response");
    return await rehearsePhases(rehearsal, residentUses([{ name: config.policy, model }]), [
      {
        what: "training",
        run: async () => {
          for (const promptTokens of [prompt.shortest, prompt.longest]) {
            const lengths = { prompt: promptTokens, response: response.longest };
            const samples = fullestPass(config, model, lengths);
            await updateSupervised(model, optimizer, samples, 0, passes);
          }
        },
      },
      { what: "evaluating", run: () => run.evaluate() },
    ]);
  } finally {
    run.close();
  }
}

/** Examples among which the longest is looked for. */
const examplesLookedAt = 512;

/** The longest response as often as it goes into a pass, and one that fills the rest. */
function fullestPass(
  config: SftConfig,
  model: Model,
  lengths: { readonly prompt: number; readonly response: number },
): SupervisedSample[] {
  const budget = Math.min(config.micro_batch_tokens, model.tokensPerPass);
  const samples: SupervisedSample[] = [];
  let used = 0;
  while (samples.length < config.batch_size) {
    const room = samples.length === 0 ? Infinity : budget - used;
    // The longest prompt and the longest response need not be one example's.
    const rest = Math.min(room, model.config.maxPositions);
    const prompt = Math.min(lengths.prompt, rest - 1);
    const response = Math.min(lengths.response, rest - prompt);
    if (response < 1 || prompt < 1) break;
    used += prompt + response;
    samples.push({
      prompt: new Uint32Array(prompt),
      response: new Uint32Array(response),
      weights: new Float32Array(response).fill(1),
    });
  }
  return samples;
}

const microBatch = (least: number): Shrink<SftConfig> => (config) => {
  const value = Math.max(least, Math.floor(config.micro_batch_tokens / 2));
  return value >= config.micro_batch_tokens
    ? null
    : { config: { ...config, micro_batch_tokens: value }, set: `micro_batch_tokens=${value}` };
};

/** What makes fine-tuning smaller, what costs least first. */
export const sftShrinks: readonly Shrink<SftConfig>[] = [
  microBatch(2048),
  (config) =>
    config.gradient_checkpointing ? null : {
      config: { ...config, gradient_checkpointing: true },
      set: "gradient_checkpointing=true",
    },
  microBatch(256),
  (config) =>
    config.lora || config.initial_model === null
      ? null
      : { config: { ...config, lora: loraSchema.parse({}) }, set: "lora={rank: 16}" },
];
