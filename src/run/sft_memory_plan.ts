import type { Gpu } from "../gpu/gpu.ts";
import { type SupervisedSample, updateSupervised } from "../rl/supervised_update.ts";
import { type MemoryPlan, rehearsePhases, residentUses } from "./memory_plan.ts";
import type { SftConfig } from "./sft_config_schema.ts";
import { SftRun } from "./sft_run.ts";
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
    const { model, optimizer } = run;
    return await rehearsePhases(rehearsal, residentUses([{ name: config.policy, model }]), [
      {
        what: "training",
        run: async () => {
          for (
            const promptTokens of [
              run.exampleLengths.prompt.shortest,
              run.exampleLengths.prompt.longest,
            ]
          ) {
            await updateSupervised(model, optimizer, fullestPass(config, run, promptTokens), 0, {
              microBatchTokens: config.micro_batch_tokens,
              gradientCheckpointing: config.gradient_checkpointing,
            });
          }
        },
      },
      { what: "evaluating", run: () => run.evaluate(0) },
    ]);
  } finally {
    run.close();
  }
}

/** The longest response as often as it goes into a pass, and one that fills the rest. */
function fullestPass(config: SftConfig, run: SftRun, promptTokens: number): SupervisedSample[] {
  const responseTokens = run.exampleLengths.response.longest;
  const budget = Math.min(config.micro_batch_tokens, run.model.tokensPerPass);
  const samples: SupervisedSample[] = [];
  let used = 0;
  while (samples.length < config.batch_size) {
    const rest = samples.length === 0 ? Infinity : budget - used;
    const prompt = Math.min(promptTokens, rest - 1);
    const response = Math.min(responseTokens, rest - prompt);
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
