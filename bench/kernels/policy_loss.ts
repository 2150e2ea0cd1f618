import { policyLoss } from "../../src/kernels/losses/policy_loss.ts";
import { clippedSurrogate, klEstimate } from "../../tests/kernels/losses/policy_loss_reference.ts";
import { type MakeBenchmark, sampleIndices } from "../benchmark.ts";

/** Clipped loss, k3 KL penalty and entropy bonus with their derivatives: 5 numbers in, 6 out. */
export const makePolicyLoss: MakeBenchmark = (bench, { size: { rows } }) => {
  const { gpu } = bench;
  const logProbs = bench.random([rows]);
  const oldLogProbs = bench.random([rows]);
  const refLogProbs = bench.random([rows]);
  const advantages = bench.random([rows]);
  const tokenWeights = bench.random([rows]);
  const inputs = {
    logProbs: logProbs.tensor,
    oldLogProbs: oldLogProbs.tensor,
    refLogProbs: refLogProbs.tensor,
    advantages: advantages.tensor,
    tokenWeights: tokenWeights.tensor,
  };
  const outputs = {
    logProbGradient: bench.zeros([rows]),
    entropyGradient: bench.zeros([rows]),
    statistics: bench.zeros([rows, 4]),
  };
  const options = {
    objective: "ppo",
    clip: { clipRatioLow: 0.2, clipRatioHigh: 0.28 },
    kl: { coefficient: 0.05, estimator: "k3" },
    entropyCoefficient: 0.01,
  } as const;
  return {
    work: 44 * rows,
    launch: () => policyLoss(gpu, inputs, outputs, options),
    check: async () => {
      const [gradients, statistics] = await gpu.readAll([
        outputs.logProbGradient,
        outputs.statistics,
      ]);
      return sampleIndices(rows).flatMap((i) => {
        const logProb = logProbs.data[i];
        const surrogate = clippedSurrogate({
          logProb,
          oldLogProb: oldLogProbs.data[i],
          advantage: advantages.data[i],
        }, options.clip);
        const kl = klEstimate(logProb, refLogProbs.data[i], "k3");
        const gradient = tokenWeights.data[i] *
          (surrogate.gradient + options.kl.coefficient * kl.gradient);
        // Values stay below e² = 7.4; exp in f32 is off by a few parts in 10⁷.
        const bound = 5e-6;
        return [
          { what: `gradient[${i}]`, actual: gradients[i], expected: gradient, bound },
          { what: `loss[${i}]`, actual: statistics[4 * i], expected: surrogate.value, bound },
          { what: `kl[${i}]`, actual: statistics[4 * i + 1], expected: kl.value, bound },
        ];
      });
    },
  };
};
