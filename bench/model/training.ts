import { Trainer } from "../../src/engine/training/trainer.ts";
import type { Model } from "../../src/model/decoder/model.ts";
import { randomTokens } from "./random_tokens.ts";

const sequences = 4;
/** Predicted in each sequence. */
const predictions = 64;
/** Tokens of a batch that are read and predict the next one. */
export const batchTokens = sequences * predictions;

/** Forward and backward of one batch, ready to run. */
export interface TrainingWork extends Disposable {
  /** Sequences of one length, one token longer than what predicts. */
  readonly tokens: readonly Uint32Array[];
  /** Adds the gradient of the batch's mean cross-entropy. @returns that loss */
  run(): Promise<number>;
  /** The norm of the gradients since it was last asked for; the next `run` begins with none. */
  gradientNorm(): Promise<number>;
}

/** Forward and backward of 4 sequences of 64 random tokens in one pass, activations kept. */
export function trainingWork(model: Model): TrainingWork {
  const trainer = new Trainer(model, {
    microBatchTokens: batchTokens,
    gradientCheckpointing: false,
    sharePrompts: false,
    shards: 1,
  });
  const tokens = Array.from(
    { length: sequences },
    (_, s) => randomTokens(s, predictions + 1, model.config.vocabularySize),
  );
  const batch = tokens.map((text) => ({
    tokens: text.subarray(0, predictions),
    targets: text.subarray(1),
    first: 0,
    weights: new Float32Array(predictions).fill(1 / batchTokens),
  }));
  return {
    tokens,
    run: async () => (await trainer.forwardBackward(batch, { name: "cross_entropy" })).loss,
    async gradientNorm() {
      const { gradientNorm } = await trainer.optimStep({
        learningRate: 0,
        betas: [0.9, 0.999],
        epsilon: 1e-8,
        weightDecay: 0,
        maxGradientNorm: Infinity,
      });
      return gradientNorm;
    },
    [Symbol.dispose]: () => trainer.release(),
  };
}
