import type { Reducer } from "../../src/engine/training/reducer.ts";
import { Trainer, type TrainerOptions } from "../../src/engine/training/trainer.ts";
import type { Gpu } from "../../src/gpu/gpu.ts";
import { type ModelConfig, plainDecoder, wholeHeads } from "../../src/model/decoder/config.ts";
import { initialise } from "../../src/model/decoder/initialise.ts";
import type { WeightStorage } from "../../src/model/decoder/layout.ts";
import { Model } from "../../src/model/decoder/model.ts";
import type { AdamwNumbers, Optimizer } from "../../src/model/decoder/optimizer.ts";

/** A decoder small enough for a test that runs it hundreds of times; 64 tokens as the embedded tasks. */
export const tinyConfig: ModelConfig = {
  architecture: "qwen3",
  vocabularySize: 64,
  hiddenSize: 32,
  intermediateSize: 48,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headDim: 8,
  normEpsilon: 1e-6,
  kinds: wholeHeads(8, 10000),
  tiedEmbeddings: false,
  ...plainDecoder,
  qkNorm: true,
  maxPositions: 512,
};

/** A model of random weights; release it. Deviations well above 0.02 make its distributions uneven. */
export function tinyModel(
  gpu: Gpu,
  options: {
    readonly seed?: number;
    readonly deviation?: number;
    readonly trained?: boolean;
    readonly segmentBytes?: number;
    readonly storage?: WeightStorage;
    readonly config?: Partial<ModelConfig>;
  } = {},
): Model {
  const { seed = 1, deviation = 0.3, trained = true, segmentBytes, storage, config = {} } = options;
  const model = Model.create(gpu, { ...tinyConfig, ...config }, { trained, segmentBytes, storage });
  initialise(model, seed, deviation);
  return model;
}

/** A trainer that keeps all activations and computes shared prompts once, with changes. */
export function tinyTrainer(
  model: Model,
  changes: Partial<TrainerOptions> = {},
  reducer?: Reducer,
): Trainer {
  const options = {
    microBatchTokens: 8192,
    gradientCheckpointing: false,
    sharePrompts: true,
    shards: 1,
    ...changes,
  };
  return new Trainer(model, options, reducer);
}

/** AdamW's numbers without weight decay, so that what has no gradient stays as it is, with changes. */
export function adamwNumbers(
  learningRate: number,
  changes: Partial<AdamwNumbers> = {},
): AdamwNumbers {
  return {
    learningRate,
    betas: [0.9, 0.95],
    epsilon: 1e-8,
    weightDecay: 0,
    maxGradientNorm: 1,
    ...changes,
  };
}

/** Forgets all updates: the next one is the first again. */
export function forgetUpdates({ gpu }: Model, optimizer: Optimizer): void {
  optimizer.step = 0;
  for (const moments of optimizer.state.moments) gpu.clear(moments);
}
