/** What an update measures and the gradients it takes, against plain sums and differences of the loss. */

import assert from "node:assert/strict";
import type { Model } from "../../../src/model/decoder/model.ts";
import { forwardOnly } from "../../../src/model/decoder/forward.ts";
import { headForward } from "../../../src/model/decoder/head.ts";
import { packSequences } from "../../model/pack_sequences.ts";
import { type PolicySample, updatePolicy } from "../../../src/rl/update/policy_update.ts";
import { assertClose, onEveryGpu } from "../../kernels/harness.ts";
import { clippedSurrogate, klEstimate } from "../../kernels/losses/policy_loss_reference.ts";
import { largestDifference, readGradients } from "../../model/fixture.ts";
import { assertSlopes } from "../../model/slopes.ts";
import { adamw, loss, sampled, spread, withPolicies, withTrainer } from "./sampled_policies.ts";

/** Log-probs of all response tokens at the loss's temperature, one sample after another. */
async function responseLogProbs(model: Model, samples: readonly PolicySample[]): Promise<number[]> {
  const { gpu } = model;
  const all: number[] = [];
  for (const { prompt, response } of samples) {
    const sequence = Uint32Array.of(...prompt, ...response);
    const logProbs = gpu.scope(() => {
      const hidden = forwardOnly(model, packSequences(gpu, [sequence]));
      const next = Uint32Array.of(...sequence.subarray(1), 0);
      const targets = gpu.from(next, [next.length], "u32", "targets");
      return headForward(model, hidden, targets, 1 / loss.temperature).logProbs;
    }, (kept) => [kept]);
    all.push(...(await gpu.readFloats(logProbs)).slice(prompt.length - 1, sequence.length - 1));
    gpu.release(logProbs);
  }
  return all;
}

onEveryGpu("policy update: the metrics are means over all response tokens", async (gpu) => {
  await withPolicies(gpu, async (model, reference, trainer) => {
    const samples = await sampled(model, spread);
    const logProbs = await responseLogProbs(model, samples);
    const refLogProbs = await responseLogProbs(reference, samples);
    const old = samples.flatMap((sample) => [...sample.oldLogProbs]);
    const advantages = samples.flatMap((sample) => [...sample.advantages]);
    const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
    const terms = logProbs.map((logProb, i) =>
      clippedSurrogate({ logProb, oldLogProb: old[i], advantage: advantages[i] }, loss)
    );
    const metrics = await updatePolicy(trainer, reference, samples, loss, adamw(0));
    const kl = mean(logProbs.map((logProb, i) => klEstimate(logProb, refLogProbs[i], "k3").value));
    assertClose([metrics.policyLoss, metrics.kl, metrics.ratioMean, metrics.clipRatio], [
      mean(terms.map(({ value }) => value)),
      kl,
      mean(terms.map(({ ratio }) => ratio)),
      mean(terms.map(({ clipped }) => clipped ? 1 : 0)),
    ], {
      absolute: 2e-6,
      relative: 0,
      why: "the same log-probs; exp in f32 is off by some 1e-7 of values up to 2",
    });
    assert.ok(metrics.clipRatio > 0.1 && metrics.clipRatio < 0.9);
    assertClose([metrics.logProbDifferenceMax ?? NaN], [spread(1)], {
      absolute: 4e-6,
      relative: 0,
      why: "old log-probs of up to 32 nats are rounded to f32 after they were moved",
    });
  });
});

onEveryGpu("policy update: the differences of watched samples, token by token", async (gpu) => {
  await withPolicies(gpu, async (model, _, trainer) => {
    const samples = (await sampled(model, spread))
      .map((sample, i) => ({ ...sample, isWatched: i % 2 === 1 }));
    const logProbs = await responseLogProbs(model, samples);
    const options = { ...loss, klCoefficient: 0, miniBatches: 2 };
    const { logProbDifferences } = await updatePolicy(trainer, null, samples, options, adamw(1e-3));
    // The second mini-batch is computed with weights that have moved.
    const measured = samples.keys().filter((i) => i % 2 === 1 && i < samples.length / 2).toArray();
    assert.ok(measured.length > 1);
    assert.deepEqual([...logProbDifferences.keys()], measured);
    let begin = 0;
    for (const [i, { oldLogProbs }] of samples.entries()) {
      const own = logProbs.slice(begin, begin += oldLogProbs.length);
      const found = logProbDifferences.get(i);
      if (!found) continue;
      assertClose(found, own.map((logProb, t) => logProb - oldLogProbs[t]), {
        absolute: 4e-6,
        relative: 0,
        why: "the same log-probs of up to 32 nats, and the difference rounded to f32",
      });
      assert.ok(found.some((difference) => difference > 0.01), "some were moved");
    }
  });
});

onEveryGpu("policy update: gradients against finite differences of the loss", async (gpu) => {
  await withPolicies(gpu, async (model, reference, trainer) => {
    const samples = await sampled(model, spread);
    for (const klEstimator of ["k2", "k3"] as const) {
      const options = { ...loss, klEstimator };
      // A learning rate of 0 leaves the weights where they are and the gradients to be read.
      const lossNow = async () => {
        const metrics = await updatePolicy(trainer, reference, samples, options, adamw(0));
        return metrics.policyLoss + options.klCoefficient * metrics.kl -
          options.entropyCoefficient * metrics.entropy;
      };
      await lossNow();
      const gradients = await readGradients(model);
      await assertSlopes(model, gradients, lossNow, {
        absolute: 3e-5,
        relative: 1e-3,
        why: "the loss is good to about 1e-7, divided by a step of 4e-3",
      }, klEstimator);
    }
  });
});

onEveryGpu(
  "policy update: masked samples weigh nothing, and all masked change nothing",
  async (gpu) => {
    await withPolicies(gpu, async (model, _, trainer) => {
      const samples = await sampled(model, spread);
      const options = { ...loss, klCoefficient: 0 };
      const masked = samples.map((sample, i) => ({ ...sample, isMasked: i % 3 === 0 }));
      const before = await model.parameters.read();
      const metrics = await updatePolicy(trainer, null, masked, options, adamw(0));
      const gradients = await readGradients(model);
      const counted = masked.filter(({ isMasked }) => !isMasked);
      assert.equal(metrics.maskedShare, 1 - counted.length / masked.length);
      assert.equal(metrics.tokens, counted.reduce((sum, { response }) => sum + response.length, 0));
      // The same without them.
      const without = await updatePolicy(trainer, null, counted, options, adamw(0));
      assert.ok(Math.abs(metrics.policyLoss - without.policyLoss) < 1e-9);
      for (const [name, expected] of Object.entries(await readGradients(model))) {
        const largest = expected.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
        assert.ok(largestDifference(gradients[name], expected) <= 1e-6 * largest, name);
      }
      const step = trainer.optimizer.step;
      const none = samples.map((sample) => ({ ...sample, isMasked: true }));
      const nothing = await updatePolicy(trainer, null, none, options, adamw(1e-3));
      assert.equal(nothing.tokens, 0);
      assert.equal(nothing.logProbDifferenceMax, null);
      assert.equal(trainer.optimizer.step, step);
      assert.deepEqual(await model.parameters.read(), before);
    });
  },
);

for (const objective of ["gspo", "cispo"] as const) {
  onEveryGpu(
    `policy update: ${objective} has the same bits however the batch is cut`,
    async (gpu) => {
      await withPolicies(gpu, async (model) => {
        const samples = await sampled(model, spread);
        const run = async (microBatchTokens: number) => {
          // A sequence's ratio lies closer to 1 than its tokens'.
          const clip = { clipRatioLow: 0.02, clipRatioHigh: 0.02 };
          const options = { ...loss, ...clip, objective, klCoefficient: 0 };
          const metrics = await withTrainer(
            model,
            { microBatchTokens },
            (trainer) => updatePolicy(trainer, null, samples, options, adamw(0)),
          );
          return { clipRatio: metrics.clipRatio, gradients: await readGradients(model) };
        };
        const whole = await run(8192);
        assert.ok(whole.clipRatio > 0);
        assert.deepEqual(await run(1), whole);
      });
    },
  );
}
