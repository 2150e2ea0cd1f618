import assert from "node:assert/strict";
import { policyLoss, type PolicyLossOptions } from "../../src/kernels/policy_loss.ts";
import { klEstimate } from "../../src/rl/kl.ts";
import { clippedSurrogate } from "../../src/rl/policy_loss.ts";
import { assertClose, onEveryGpu, randomFloats } from "./harness.ts";

const clip = { clipLow: 0.2, clipHigh: 0.28 };
const tolerance = {
  absolute: 3e-7,
  relative: 3e-6,
  why: "f32 exp, and differences of log-probs near 3 that are good to 2e-7",
};

for (const rows of [1, 257]) {
  for (const klEstimator of [0, 1, 2, 3] as const) {
    onEveryGpu(
      `policy loss of ${rows} tokens, ${klEstimator ? `k${klEstimator}` : "no KL"}`,
      async (gpu) => {
        const logProbs = randomFloats(rows, 1, 3);
        const near = (seed: number) => {
          const shift = randomFloats(rows, seed, 0.6);
          // Some tokens are exactly on-policy.
          return logProbs.map((x, r) => r % 5 === 1 ? x : x + shift[r]);
        };
        const oldLogProbs = near(2);
        const refLogProbs = near(3);
        const advantages = randomFloats(rows, 4, 2);
        const weights = Float32Array.from(
          { length: rows },
          (_, r) => r % 4 === 3 ? 0 : 1 / (r + 2),
        );
        // A masked row may hold anything.
        weights.forEach((weight, r) => {
          if (weight === 0) {
            oldLogProbs[r] = advantages[r] = NaN;
          }
        });
        const options: PolicyLossOptions = {
          ...clip,
          klCoefficient: klEstimator ? 0.3 : 0,
          entropyCoefficient: 0.02,
          klEstimator: klEstimator || 3,
        };
        const vector = (data: Float32Array) => gpu.from(data, [rows]);
        const inputs = {
          logProbs: vector(logProbs),
          oldLogProbs: vector(oldLogProbs),
          advantages: vector(advantages),
          tokenWeights: vector(weights),
          ...(klEstimator && { refLogProbs: vector(refLogProbs) }),
        };
        const outputs = {
          logProbGradient: gpu.tensor([rows]),
          entropyGradient: gpu.tensor([rows]),
          statistics: gpu.tensor([rows, 4]),
        };
        policyLoss(gpu, inputs, outputs, options);
        const [gradient, entropyGradient, statistics] = await gpu.readAll(Object.values(outputs));
        const expected = Array.from(weights, (weight, r) => {
          if (weight === 0) return { gradient: 0, entropy: 0, statistics: [0, 0, 0, 0] };
          const term = clippedSurrogate({
            ...clip,
            logProb: logProbs[r],
            oldLogProb: oldLogProbs[r],
            advantage: advantages[r],
          });
          const kl = klEstimator
            ? klEstimate(logProbs[r], refLogProbs[r], `k${klEstimator}`)
            : { value: 0, gradient: 0 };
          return {
            gradient: weight * (term.gradient + options.klCoefficient * kl.gradient),
            entropy: -weight * options.entropyCoefficient,
            statistics: [term.value, kl.value, term.ratio, term.clipped ? 1 : 0],
          };
        });
        assertClose(gradient, expected.map((row) => row.gradient), tolerance);
        assertClose(entropyGradient, expected.map((row) => row.entropy), tolerance);
        assertClose(statistics, expected.flatMap((row) => row.statistics), tolerance);
        for (let r = 1; r < rows; r += 5) {
          if (weights[r] > 0) assert.equal(statistics[4 * r + 2], 1, "an on-policy ratio is 1");
        }
        gpu.release(...Object.values(inputs), ...Object.values(outputs));
      },
    );
  }
}

onEveryGpu("a KL coefficient needs reference log-probs", async (gpu) => {
  const inputs = gpu.zeros([4]);
  const outputs = [gpu.tensor([4]), gpu.tensor([4]), gpu.tensor([4, 4])];
  const [logProbGradient, entropyGradient, statistics] = outputs;
  assert.throws(
    () =>
      policyLoss(
        gpu,
        { logProbs: inputs, oldLogProbs: inputs, advantages: inputs, tokenWeights: inputs },
        { logProbGradient, entropyGradient, statistics },
        { ...clip, klCoefficient: 0.1, entropyCoefficient: 0, klEstimator: 3 },
      ),
    /refLogProbs/,
  );
  await gpu.finish();
  gpu.release(inputs, ...outputs);
});
