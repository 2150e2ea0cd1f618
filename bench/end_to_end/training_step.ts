import { Trainer } from "../../src/engine/training/trainer.ts";
import type { AdamwNumbers } from "../../src/model/decoder/optimizer.ts";
import { type PolicyUpdateMetrics, updatePolicy } from "../../src/rl/update/policy_update.ts";
import { rollout } from "../../src/engine/sampling/rollout.ts";
import type { MakeBenchmark } from "../benchmark.ts";
import { benchSampler, randomModel, samplingOf } from "./random_model.ts";

const learningRate = 1e-5;
const entropyCoefficient = 0.01;

/**
 * One policy update on a batch of sampled sequences: forward, policy loss with entropy bonus,
 * backward, gradient clipping and AdamW, in one pass over the batch; counts all its tokens.
 */
export const makeTrainingStep: MakeBenchmark = async (bench, shape) => {
  const { sequences, tokens } = shape.size;
  const model = randomModel(bench, shape, { maxPositions: tokens, trained: true });
  const trainer = new Trainer(model, {
    microBatchTokens: sequences * tokens,
    gradientCheckpointing: false,
    sharePrompts: true,
    shards: 1,
  });
  const adamw: AdamwNumbers = {
    learningRate,
    betas: [0.9, 0.999],
    epsilon: 1e-8,
    weightDecay: 0.01,
    maxGradientNorm: 1,
  };
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
  const loss = {
    objective: "ppo",
    aggregation: "token-mean",
    maximumResponse: 64,
    clipRatioLow: 0.2,
    clipRatioHigh: 0.28,
    klCoefficient: 0,
    klEstimator: "k3",
    entropyCoefficient,
    temperature: 1,
    miniBatches: 1,
    epochs: 1,
  } as const;
  const update = () => updatePolicy(trainer, null, samples, loss, adamw);
  let metrics: PolicyUpdateMetrics | null = null;
  const lossOf = ({ policyLoss, entropy }: PolicyUpdateMetrics) =>
    policyLoss - entropyCoefficient * entropy;
  return {
    work: sequences * tokens,
    launch: async () => {
      metrics = await update();
    },
    check: async () => {
      const first = metrics ?? await update();
      const segments = await bench.gpu.readAll(model.parameters.training?.gradients ?? []);
      const gradients = Object.values(model.parameters.name(segments as Float32Array[]));
      const magnitudes = gradients.map((slopes) =>
        slopes.reduce((sum, slope) => sum + Math.abs(slope), 0)
      );
      // AdamW's first step moves every parameter by the learning rate against its slope.
      const expected = -learningRate * magnitudes.reduce((a, b) => a + b);
      const second = await update();
      return [
        {
          what: "largest difference between the trainer's log-probs and the rollout's",
          actual: first.logProbDifferenceMax,
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
          actual: lossOf(second) - lossOf(first),
          expected,
          // The loss is not quite linear along the step: 0.1 % off, 1 % with very few tokens.
          bound: 0.03 * Math.abs(expected),
        },
      ];
    },
  };
};
