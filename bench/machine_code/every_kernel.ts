import type { Gpu } from "../../src/gpu/gpu.ts";
import type { KernelSource } from "../../src/gpu/kernel.ts";
import { type CacheDtype, quantisedTypes } from "../../src/gpu/tensor.ts";
import { kernelTrials } from "../../src/kernels/choice/trials.ts";
import {
  type ModelConfig,
  plainDecoder,
  plainExperts,
  wholeHeads,
} from "../../src/model/decoder/config.ts";
import { launchedKernels } from "./model_kernels.ts";

/** Head size 256, with what some families alone have: windows, norms after blocks, GELU, biases anywhere, multipliers. */
const other: ModelConfig = {
  architecture: "gemma3_text",
  vocabularySize: 200,
  hiddenSize: 64,
  intermediateSize: 128,
  layers: 2,
  kinds: [
    { rotation: { size: 256, theta: 10000, scaling: null }, window: 40 },
    { rotation: { size: 64, theta: 10000, scaling: null }, window: null },
  ],
  heads: 2,
  kvHeads: 1,
  headDim: 256,
  normEpsilon: 1e-6,
  tiedEmbeddings: true,
  biases: { qkv: true, attentionOutput: true, feedForward: false },
  qkNorm: true,
  norms: { fromOne: true, after: true },
  activation: "gelu",
  fusedProjections: true,
  scales: { embedding: 8, attention: 0.1, residual: 0.5, logits: 0.25 },
  caps: plainDecoder.caps,
  maxPositions: 4096,
};

/** As small as the models of the embedded tasks, which software drivers decode in one launch. */
const small: ModelConfig = {
  architecture: "llama",
  ...{ vocabularySize: 100, hiddenSize: 64, intermediateSize: 192, layers: 1 },
  ...{ kinds: wholeHeads(16, 10000), heads: 4, kvHeads: 2, headDim: 16 },
  ...{ normEpsilon: 1e-6, tiedEmbeddings: true, maxPositions: 4096 },
  ...plainDecoder,
};

/** The small one; head sizes 16, 64 and 128, with biases and with norms of queries and keys, narrow and wide; the other
 * one; that with caps; one that convolves; one with DeltaNets and gates; and two
 * with experts. */
const models: readonly ModelConfig[] = [
  small,
  ...[
    { headDim: 16, hiddenSize: 64, heads: 4, intermediateSize: 128, vocabularySize: 200 },
    { headDim: 64, hiddenSize: 512, heads: 8, intermediateSize: 1536, vocabularySize: 3000 },
    { headDim: 128, hiddenSize: 1536, heads: 12, intermediateSize: 2560, vocabularySize: 3000 },
  ].map((shape, index) => ({
    ...shape,
    architecture: "qwen3",
    layers: 1,
    kvHeads: 2,
    normEpsilon: 1e-6,
    kinds: wholeHeads(shape.headDim, 10000),
    maxPositions: 4096,
    ...plainDecoder,
    qkNorm: index === 2,
    biases: { ...plainDecoder.biases, qkv: index === 0 },
    tiedEmbeddings: index === 1,
  } as const)),
  other,
  { ...other, architecture: "gemma2", caps: { attention: 50, logits: 30 } },
  {
    ...other,
    architecture: "lfm2",
    kinds: [
      { rotation: other.kinds[1].rotation, window: null, taps: 3 },
      {
        ...other.kinds[1],
        experts: {
          ...{ count: 9, chosen: 2, innerSize: 32, scores: "sigmoid", biased: true },
          ...{ normalised: true, scale: 1.5, shared: false },
        },
      },
      other.kinds[1],
    ],
    layers: 3,
    fusedProjections: false,
    norms: plainDecoder.norms,
  },
  // Heads of 128 are those of real models.
  {
    ...other,
    architecture: "qwen3_5_text",
    headDim: 64,
    kinds: [
      {
        rotation: other.kinds[1].rotation,
        window: null,
        delta: { keyHeads: 2, valueHeads: 4, keyDim: 128, valueDim: 128, taps: 4 },
      },
      {
        ...{ rotation: other.kinds[1].rotation, window: null, gated: true },
        experts: {
          ...{ ...plainExperts, count: 9, chosen: 2, innerSize: 32 },
          ...{ normalised: true, shared: true },
        },
      },
    ],
    biases: plainDecoder.biases,
    fusedProjections: false,
    norms: { fromOne: true, after: false },
    activation: "silu",
  },
  ...[2, 3].map((chosen) => ({
    ...other,
    architecture: chosen === 2 ? "qwen3_moe" : "olmoe",
    qkNorm: chosen === 2 ? true : "whole",
    headDim: 64,
    layers: 1,
    kinds: [{
      ...{ rotation: other.kinds[1].rotation, window: null },
      experts: {
        ...plainExperts,
        ...{ count: 9, chosen, innerSize: 64, normalised: chosen === 2 },
      },
    }],
    fusedProjections: false,
    norms: plainDecoder.norms,
    activation: chosen === 2 ? "silu" : "gelu",
  } as const)),
];

/**
 * What sampling and training launch on a device, and what would be measured there: each kernel as often as it is asked
 * for. With head size 64 every type of the cache and every quantised storage of the base is among them.
 *
 * @param rehearsalOf the device, with a type of the cache
 */
export async function everyKernel(
  rehearsalOf: (cacheDtype: CacheDtype) => Gpu,
): Promise<KernelSource[]> {
  const sources: KernelSource[] = [];
  for (const config of models) {
    const all = config.headDim === 64;
    for (const cacheDtype of all ? ["f32", "f16", "bf16"] as const : ["f32"] as const) {
      const rehearsal = rehearsalOf(cacheDtype);
      await launchedKernels(rehearsal, config, { isTrainedWhole: true });
      if (all && cacheDtype === "f32") {
        for (const storage of quantisedTypes) {
          await launchedKernels(rehearsal, config, { isTrainedWhole: false, storage });
        }
      }
      for (const trials of kernelTrials) {
        for (const { shape } of rehearsal.rehearsed.of(trials.operation)) {
          const trial = trials.prepare(rehearsal, shape);
          for (const variant of trial.variants) trial.launch(variant);
          trial.release();
        }
      }
      sources.push(...rehearsal.kernels.map(({ source }) => source));
    }
  }
  return sources;
}
