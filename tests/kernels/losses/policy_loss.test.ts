import assert from "node:assert/strict";
import { policyLoss, type PolicyLossNumbers } from "../../../src/kernels/losses/policy_loss.ts";
import { assertClose, onEveryGpu, randomFloats } from "../harness.ts";
import {
  clippedSurrogate,
  clippedWeight,
  importanceSampling,
  klEstimate,
} from "./policy_loss_reference.ts";

const clip = { clipRatioLow: 0.2, clipRatioHigh: 0.28 };
const references = {
  importance_sampling: importanceSampling,
  ppo: clippedSurrogate,
  cispo: clippedWeight,
} as const;
const tolerance = {
  absolute: 3e-7,
  relative: 3e-6,
  why: "f32 exp, and differences of log-probs near 3 that are good to 2e-7",
};

const cases = [
  [1, "ppo", null],
  [257, "ppo", null],
  [257, "ppo", "k2"],
  [257, "ppo", "k3"],
  [257, "cispo", "k3"],
  [257, "importance_sampling", null],
  [257, "importance_sampling", "k2"],
] as const;

for (const [rows, objective, estimator] of cases) {
  onEveryGpu(
    `policy loss of ${rows} tokens, ${objective}, ${estimator ?? "no KL"}`,
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
      const options: PolicyLossNumbers = {
        objective,
        clip: objective === "importance_sampling" ? null : clip,
        kl: estimator && { coefficient: 0.3, estimator },
        entropyCoefficient: 0.02,
      };
      const vector = (data: Float32Array) => gpu.from(data, [rows]);
      const inputs = {
        logProbs: vector(logProbs),
        oldLogProbs: vector(oldLogProbs),
        advantages: vector(advantages),
        tokenWeights: vector(weights),
        ...(estimator && { refLogProbs: vector(refLogProbs) }),
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
        const term = references[objective]({
          logProb: logProbs[r],
          oldLogProb: oldLogProbs[r],
          advantage: advantages[r],
        }, clip);
        const kl = estimator
          ? klEstimate(logProbs[r], refLogProbs[r], estimator)
          : { value: 0, gradient: 0 };
        return {
          gradient: weight * (term.gradient + 0.3 * kl.gradient),
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

onEveryGpu(
  "policy loss: more than 10 nats below the reference k3 is a constant",
  async (gpu) => {
    const logProbs = Float32Array.of(-30, -10.5, -9.5, -1, -1);
    const refLogProbs = Float32Array.of(-0.5, 0, 0, -10.5, -25);
    const rows = logProbs.length;
    const vector = (data: ArrayLike<number>) => gpu.from(Float32Array.from(data), [rows]);
    for (const estimator of ["k2", "k3"] as const) {
      const made = gpu.scope(() => {
        const outputs = {
          logProbGradient: gpu.tensor([rows]),
          entropyGradient: gpu.tensor([rows]),
          statistics: gpu.tensor([rows, 4]),
        };
        const own = vector(logProbs);
        policyLoss(
          gpu,
          {
            logProbs: own,
            oldLogProbs: own,
            refLogProbs: vector(refLogProbs),
            advantages: gpu.zeros([rows]),
            tokenWeights: vector(logProbs.map(() => 1)),
          },
          outputs,
          { objective: "ppo", clip, kl: { coefficient: 1, estimator }, entropyCoefficient: 0 },
        );
        return [outputs.logProbGradient, outputs.statistics];
      }, (kept) => kept);
      const [gradient, statistics] = await gpu.readAll(made);
      gpu.release(...made);
      const expected = Array.from(logProbs, (x, r) => klEstimate(x, refLogProbs[r], estimator));
      const bound = { absolute: 1e-6, relative: 3e-6, why: "f32 exp of up to 10" };
      assertClose(gradient, expected.map((term) => term.gradient), bound);
      assertClose(
        expected.map((_, r) => statistics[4 * r + 1]),
        expected.map((term) => term.value),
        bound,
      );
      const isClipped = estimator === "k3";
      assert.deepEqual(
        Array.from(gradient, (slope) => slope === 0),
        [isClipped, isClipped, false, false, false],
      );
    }
  },
);

onEveryGpu("policy loss: a KL term and reference log-probs come together", async (gpu) => {
  const inputs = gpu.zeros([4]);
  const outputs = [gpu.tensor([4]), gpu.tensor([4]), gpu.tensor([4, 4])];
  const [logProbGradient, entropyGradient, statistics] = outputs;
  const refused = (numbers: PolicyLossNumbers, message: RegExp) =>
    assert.throws(
      () =>
        policyLoss(
          gpu,
          { logProbs: inputs, oldLogProbs: inputs, advantages: inputs, tokenWeights: inputs },
          { logProbGradient, entropyGradient, statistics },
          numbers,
        ),
      message,
    );
  const kl = { coefficient: 0.1, estimator: "k3" } as const;
  refused({ objective: "ppo", clip, kl, entropyCoefficient: 0 }, /refLogProbs/);
  refused({ objective: "cispo", clip: null, kl: null, entropyCoefficient: 0 }, /needs clip/);
  await gpu.finish();
  gpu.release(inputs, ...outputs);
});
