/** Sequences that add nothing to a gradient are not computed, and the gradient is the one with them. */

import assert from "node:assert/strict";
import {
  changesGradient,
  type PolicyGradientLoss,
  type SampledSequence,
} from "../../../src/engine/training/losses.ts";
import { assertClose, onEveryGpu } from "../../kernels/harness.ts";
import { batches, clippedLoss, kinds, tiedKind, withTraining } from "./small_training.ts";

const loss = { ...clippedLoss, entropyCoefficient: 0 };

/** Without an advantage: all responses to the second prompt and some to the first and last. One has no weight. */
const batch: readonly SampledSequence[] = batches[0].map((sequence, s) => ({
  ...sequence,
  advantages: [0, 2, 3, 4, 7].includes(s) ? sequence.advantages.map(() => 0) : sequence.advantages,
  weights: s === 5 ? sequence.weights.map(() => 0) : sequence.weights,
}));
const idle = [0, 2, 3, 4, 5, 7];

Deno.test("sequences: which ones change the gradient", () => {
  const places = (loss: PolicyGradientLoss) =>
    batch.keys().filter((s) => changesGradient(loss, batch[s])).toArray();
  const kl = { coefficient: 0.1, estimator: "k3", reference: null } as const;
  const unweighted = batch.keys().filter((s) => s !== 5).toArray();
  const rest = batch.keys().filter((s) => !idle.includes(s)).toArray();
  assert.deepEqual(places(loss), rest);
  assert.deepEqual(places({ ...loss, kl: { ...kl, coefficient: 0 } }), rest);
  assert.deepEqual(places({ ...loss, entropyCoefficient: 0.01 }), unweighted);
  assert.deepEqual(places({ ...loss, kl }), unweighted);
  assert.ok(changesGradient({ name: "cross_entropy" }, batch[0]));
  assert.ok(!changesGradient({ name: "cross_entropy" }, batch[5]));
});

/** Zeros are added with either sign. */
const signless = (slopes: Float32Array) => slopes.map((slope) => slope + 0);

for (const [name, kind] of Object.entries(kinds)) {
  for (const shards of [1, 3]) {
    for (const microBatchTokens of [1, 60, 4096]) {
      const cut = `${shards} shards, passes of ${microBatchTokens}`;
      onEveryGpu(`idle sequences: the gradient without them: ${name}, ${cut}`, async (gpu) => {
        const training = { microBatchTokens, shards };
        await withTraining(gpu, kind, training, async (trainer) => {
          for (const objective of ["ppo", "gspo", "cispo"] as const) {
            const run = async (leavesOutIdle: boolean) => {
              const found = await trainer.forwardBackward(batch, { ...loss, name: objective }, 1, {
                leavesOutIdle,
              });
              const gradients = await gpu.readAll(trainer.optimizer.gradients) as Float32Array[];
              await trainer.optimStep({
                ...{ learningRate: 0, betas: [0.9, 0.95], epsilon: 1e-8 },
                ...{ weightDecay: 0, maxGradientNorm: 1e9 },
              });
              return { ...found, gradients };
            };
            const whole = await run(false), rest = await run(true);
            assert.equal(rest.loss, whole.loss);
            rest.outputs.forEach((outputs, s) => {
              if (idle.includes(s)) assert.equal(outputs.logProbs.length, 0);
              else assert.deepEqual(outputs, whole.outputs[s]);
            });
            assert.ok(whole.gradients.some((slopes) => slopes.some((slope) => slope !== 0)));
            // Head and embedding add to one table in turns, pass by pass.
            const inTurns = kind.config === tiedKind.config && shards === 1 &&
              microBatchTokens < 4096;
            whole.gradients.forEach((slopes, i) => {
              if (!inTurns) return assert.deepEqual(signless(rest.gradients[i]), signless(slopes));
              const largest = slopes.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
              assertClose(rest.gradients[i], slopes, {
                absolute: 1e-6 * largest,
                relative: 0,
                why: "f32 sums of some hundred terms, in another order",
              });
            });
          }
        });
      });
    }
  }
}

onEveryGpu("idle sequences: no pass is made for them", async (gpu) => {
  const training = { microBatchTokens: 1, shards: 1 };
  await withTraining(gpu, tiedKind, training, async (trainer) => {
    const passes = async (sequences: readonly SampledSequence[], leavesOutIdle: boolean) => {
      let betweens = 0;
      const between = () => Promise.resolve(void betweens++);
      await trainer.forwardBackward(sequences, loss, 1, { between, leavesOutIdle });
      return betweens + 1;
    };
    // The first prompt is one token, which nothing is shared of: its two responses are two passes.
    assert.equal(await passes(batch, false), 6);
    assert.equal(await passes(batch, true), 3);
    // Where all are idle there is a gradient of zeros.
    await trainer.optimStep({
      ...{ learningRate: 0, betas: [0.9, 0.95], epsilon: 1e-8 },
      ...{ weightDecay: 0, maxGradientNorm: 1 },
    });
    const { outputs } = await trainer.forwardBackward(
      batch.filter((_, s) => idle.includes(s)),
      loss,
      1,
      { leavesOutIdle: true },
    );
    assert.ok(outputs.every(({ logProbs }) => logProbs.length === 0));
    const gradients = await gpu.readAll(trainer.optimizer.gradients) as Float32Array[];
    assert.ok(gradients.every((slopes) => slopes.every((slope) => slope === 0)));
  });
});
