import { Trainer } from "../../src/engine/training/trainer.ts";
import type { AdamwNumbers } from "../../src/model/decoder/optimizer.ts";
import { type PolicyUpdateMetrics, updatePolicy } from "../../src/rl/update/policy_update.ts";
import { rollout } from "../../src/engine/sampling/rollout.ts";
import type { MakeBenchmark, Workbench } from "../benchmark.ts";
import type { Shape } from "../shapes.ts";
import { benchSampler, randomModel, samplingOf } from "./random_model.ts";

/** How the step's parameters are updated. */
export const stepAdamw: AdamwNumbers = {
  learningRate: 1e-5,
  betas: [0.9, 0.999],
  epsilon: 1e-8,
  weightDecay: 0.01,
  maxGradientNorm: 1,
};

/** What the step descends. */
export const stepLoss = {
  objective: "ppo",
  aggregation: "token-mean",
  maximumResponse: 64,
  clipRatioLow: 0.2,
  clipRatioHigh: 0.28,
  klCoefficient: 0,
  klEstimator: "k3",
  entropyCoefficient: 0.01,
  temperature: 1,
  miniBatches: 1,
  epochs: 1,
} as const;

/** The loss that a step began with. */
export const lossBefore = ({ policyLoss, entropy }: PolicyUpdateMetrics) =>
  policyLoss - stepLoss.entropyCoefficient * entropy;

/**
 * A model and sequences that it sampled after a prompt of one token each, whose advantages are 1, and one policy
 * update on them: forward, policy loss with entropy bonus, backward, gradient clipping and AdamW, in one pass.
 */
export async function makePolicyStep(bench: Workbench, shape: Shape) {
  const { sequences, tokens } = shape.size;
  const model = randomModel(bench, shape, { maxPositions: tokens, trained: true });
  const trainer = new Trainer(model, {
    microBatchTokens: sequences * tokens,
    gradientCheckpointing: false,
    sharePrompts: true,
    shards: 1,
  });
  bench.onRelease(() => trainer.release());
  const { data } = bench.randomIntegers(sequences, model.config.vocabularySize);
  const requests = Array.from(data, (token, s) => ({
    prompt: Uint32Array.of(token),
    sequenceIds: [s],
  }));
  const sampler = benchSampler(bench, model, sequences);
  const responses = await rollout(sampler, requests, samplingOf(tokens - 1));
  sampler.release();
  const samples = responses.map(([{ tokens: response, logProbs }], s) => ({
    prompt: requests[s].prompt,
    response,
    oldLogProbs: logProbs,
    advantages: new Float32Array(response.length).fill(1),
  }));
  return {
    model,
    samples,
    update: () => updatePolicy(trainer, null, samples, stepLoss, stepAdamw),
  };
}

/** One policy update, see `makePolicyStep`; counts all tokens of the batch. */
export const makeTrainingStep: MakeBenchmark = async (bench, shape) => {
  const { model, update } = await makePolicyStep(bench, shape);
  const { sequences, tokens } = shape.size;
  let metrics: PolicyUpdateMetrics | null = null;
  return {
    work: sequences * tokens,
    launch: async () => {
      metrics = await update();
    },
    check: async () => {
      const first = metrics ?? await update();
      const segments = await bench.gpu.readAll(model.parameters.gradients ?? []);
      const gradients = Object.values(model.parameters.name(segments as Float32Array[]));
      const magnitudes = gradients.map((slopes) =>
        slopes.reduce((sum, slope) => sum + Math.abs(slope), 0)
      );
      // AdamW's first step moves every parameter by the learning rate against its slope.
      const expected = -stepAdamw.learningRate * magnitudes.reduce((a, b) => a + b);
      const second = await update();
      return [
        {
          what: "largest difference between the trainer's log-probs and the rollout's",
          actual: first.logProbDifferenceMax ?? NaN,
          expected: 0,
          bound: 0,
        },
        {
          what: "weight tensors without a gradient",
          actual: magnitudes.filter((magnitude) => magnitude === 0).length,
          expected: 0,
          bound: 0,
        },
        {
          what: "change of the loss by the first step",
          actual: lossBefore(second) - lossBefore(first),
          expected,
          // The loss is not quite linear along the step: 0.1 % off, 1 % with very few tokens.
          bound: 0.03 * Math.abs(expected),
        },
      ];
    },
  };
};
