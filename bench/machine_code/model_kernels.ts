import type { ModelConfig } from "../../src/model/decoder/config.ts";
import { parseModelConfig } from "../../src/model/weights/config/config_json.ts";
import type { WeightStorage } from "../../src/model/decoder/layout.ts";
import { targetsOf } from "../../src/model/decoder/lora.ts";
import { Model } from "../../src/model/decoder/model.ts";
import { rollout } from "../../src/engine/sampling/rollout.ts";
import { Sampler } from "../../src/engine/sampling/sampler.ts";
import { Trainer } from "../../src/engine/training/trainer.ts";
import { Gpu } from "../../src/gpu/gpu.ts";
import type { EngineName } from "../../src/gpu/adapter.ts";
import type { CacheDtype } from "../../src/gpu/tensor.ts";
import type { Precision } from "../../src/gpu/tuning.ts";
import type { KernelSource } from "../../src/gpu/kernel.ts";
import { anyNumbers } from "../../src/run/memory/any_numbers.ts";
import { updatePolicy } from "../../src/rl/update/policy_update.ts";
import { samplingOf } from "../end_to_end/random_model.ts";

/**
 * Models whose kernels are judged: head sizes 64 and 128, norms on queries and keys; and head size 256 with windows,
 * norms after blocks and GELU.
 */
export const judgedModels = [
  "Qwen2.5-0.5B",
  "Qwen2.5-1.5B",
  "Qwen3-0.6B",
  "gemma-3-1b",
] as const;

/** Those that are trained whole besides. */
const trainedWhole: ReadonlySet<string> = new Set(["Qwen2.5-0.5B", "Qwen3-0.6B"]);

/** The kernels that a judged model launches on a hardware GPU. */
export async function modelKernels(
  name: (typeof judgedModels)[number],
  engine: EngineName,
  precision: Precision,
): Promise<readonly KernelSource[]> {
  const file = `configs/models/${name}.json`;
  const whole = parseModelConfig(JSON.parse(Deno.readTextFileSync(file)), file);
  // All layers of a kind launch the same kernels.
  const config = { ...whole, layers: Math.max(2, whole.kinds.length) };
  return await launchedKernels(hardware(engine, precision), config, {
    isTrainedWhole: trainedWhole.has(name),
  });
}

/**
 * The kernels that sampling and training launch, each variant once; nothing is computed. The base is frozen
 * under an adapter of rank 16.
 *
 * @param gpu a rehearsal of the device
 */
export async function launchedKernels(
  gpu: Gpu,
  config: ModelConfig,
  { isTrainedWhole, storage = "bf16" }: {
    readonly isTrainedWhole: boolean;
    /** Of the base. */
    readonly storage?: WeightStorage;
  },
): Promise<readonly KernelSource[]> {
  const base = Model.create(gpu, config, { trained: false, storage });
  const adapter = { rank: 16, alpha: 32, targets: targetsOf(config) };
  const adapted = base.adapted({ config: adapter, basePath: "base", trained: true });
  await sample(adapted);
  for (const gradientCheckpointing of [false, true]) {
    await train(adapted, base, gradientCheckpointing);
  }
  if (isTrainedWhole) {
    const whole = Model.create(gpu, config, { trained: true });
    await sample(whole);
    await train(whole, null, false);
  }
  return gpu.kernels.map(({ source }) => source);
}

/** What the matrix units of RDNA3 multiply. */
const rdna3Matrices = {
  ...{ M: 16, N: 16, K: 16 },
  ...{ componentType: "f16", resultComponentType: "f32" },
};

/** What a GPU of RDNA3 tells the engine. */
export function hardware(
  engine: EngineName,
  precision: Precision = "f32",
  cacheDtype: CacheDtype = "f32",
): Gpu {
  const usesMatrices = precision !== "f32";
  return Gpu.rehearsalOf({
    engine,
    name: "RDNA3",
    vendor: "amd",
    software: false,
    subgroups: true,
    subgroupMinSize: 32,
    subgroupMaxSize: 64,
    subgroupSizeControl: false,
    f16: true,
    int64: false,
    subgroupMatrix: usesMatrices,
    subgroupMatrixConfigs: usesMatrices ? [rdna3Matrices] : [],
  }, {
    maxStorageBufferBindingSize: 2 ** 31 - 4,
    maxBufferSize: 2 ** 31 - 4,
    minUniformBufferOffsetAlignment: 64,
    // What the driver has on which kernels with matrices are translated.
    maxComputeWorkgroupStorageSize: usesMatrices ? 32 * 1024 : 64 * 1024,
    maxComputeInvocationsPerWorkgroup: 1024,
  }, { precision, cacheDtype });
}

const prompt = (tokens: number, p: number) => new Uint32Array(tokens).fill(1 + p);

/** One sequence and many, short contexts and long ones, all ways to choose a token. */
async function sample(model: Model): Promise<void> {
  for (const [slots, tokens] of [[1, 40], [1, 3000], [16, 300], [64, 700]]) {
    const sampler = new Sampler(model, { slots, stepsBetweenReadbacks: 4 });
    const requests = Array.from({ length: 2 }, (_, p) => ({
      prompt: prompt(tokens, p),
      sequenceIds: Array.from({ length: slots }, (_, i) => i),
    }));
    // A rehearsal samples token 0.
    const options = { ...samplingOf(16), stopTokens: [0] };
    await rollout(sampler, requests, options);
    await rollout(sampler, requests, { ...options, topK: 50, topP: 0.9, minP: 0.05 });
    await rollout(sampler, requests, { ...options, temperature: 0 });
    sampler.close();
  }
}

/** A policy gradient with a reference, and the optimizer's step. */
async function train(
  model: Model,
  reference: Model | null,
  gradientCheckpointing: boolean,
): Promise<void> {
  for (const sharePrompts of [false, true]) {
    const options = { microBatchTokens: 4096, gradientCheckpointing, sharePrompts, shards: 2 };
    const trainer = new Trainer(model, options);
    const samples = Array.from({ length: 16 }, (_, s) => ({
      prompt: prompt(300, s >> 2),
      response: new Uint32Array(400),
      oldLogProbs: new Float32Array(400),
      advantages: new Float32Array(400),
    }));
    await updatePolicy(
      trainer,
      reference,
      samples,
      {
        objective: "ppo",
        aggregation: "token-mean",
        maximumResponse: 400,
        clipRatioLow: 0.2,
        clipRatioHigh: 0.28,
        klCoefficient: reference === null ? 0 : 0.01,
        klEstimator: "k3",
        entropyCoefficient: 0.01,
        temperature: 1,
        miniBatches: 1,
        epochs: 1,
      },
      anyNumbers,
    );
    trainer.release();
  }
}
