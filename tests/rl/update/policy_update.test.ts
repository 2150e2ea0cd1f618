import assert from "node:assert/strict";
import { type PolicyUpdateMetrics, updatePolicy } from "../../../src/rl/update/policy_update.ts";
import { assertClose, onEveryGpu } from "../../kernels/harness.ts";
import { largestDifference, readGradients } from "../../model/fixture.ts";
import { forgetUpdates } from "../../model/tiny_model.ts";
import {
  adamw,
  loss,
  nowhere,
  sampled,
  spread,
  withPolicies,
  withTrainer,
} from "./sampled_policies.ts";

onEveryGpu("policy update: the cut into micro-batches changes no bit", async (gpu) => {
  await withPolicies(gpu, async (model, reference, trainer) => {
    const samples = await sampled(model, spread);
    const before = await model.parameters.read();
    const run = async (microBatchTokens: number) => {
      model.parameters.set(before);
      forgetUpdates(model, trainer.optimizer);
      const metrics = await withTrainer(
        model,
        { microBatchTokens },
        (cut) => updatePolicy(cut, reference, samples, loss, adamw(1e-3)),
      );
      const gradients = await readGradients(model);
      return { metrics, gradients, weights: await model.parameters.read() };
    };
    const whole = await run(8192);
    for (const microBatchTokens of [1, 30, 70]) {
      const cut = await run(microBatchTokens);
      const worst = Math.max(
        ...Object.keys(before).map((name) =>
          largestDifference(cut.gradients[name], whole.gradients[name])
        ),
      );
      console.log(`${microBatchTokens} tokens [${gpu.info.engine}]: largest difference ${worst}`);
      assert.deepEqual(cut, whole);
    }
    assert.ok(whole.metrics.gradientNorm > 0);
    assert.equal(whole.metrics.nonFinite, 0);
    assert.notDeepEqual(whole.weights, before);
  });
});

onEveryGpu("policy update: a prompt computed once or for each response", async (gpu) => {
  await withPolicies(gpu, async (model, reference) => {
    const samples = await sampled(model, nowhere);
    const run = async (sharePrompts: boolean) => {
      const metrics = await withTrainer(
        model,
        { sharePrompts },
        (trainer) => updatePolicy(trainer, reference, samples, loss, adamw(0)),
      );
      return { metrics, gradients: await readGradients(model) };
    };
    const shared = await run(true), apart = await run(false);
    // Every token's log-probs have the same bits; sums over the prompt's rows are rounded otherwise.
    const { gradientNorm: sharedNorm, ...sharedMetrics } = shared.metrics;
    const { gradientNorm: apartNorm, ...apartMetrics } = apart.metrics;
    assert.deepEqual(sharedMetrics, apartMetrics);
    assert.equal(sharedMetrics.logProbDifferenceMax, 0);
    const bound = {
      absolute: 2e-6 * apartNorm,
      relative: 1e-4,
      why: "f32 sums of a few hundred terms, in another order",
    };
    assertClose([sharedNorm], [apartNorm], bound);
    for (const [name, gradient] of Object.entries(apart.gradients)) {
      assertClose(shared.gradients[name], gradient, bound);
    }
  });
});

onEveryGpu("policy update: on-policy log-probs are the rollout's, bit for bit", async (gpu) => {
  await withPolicies(gpu, async (model, reference, trainer) => {
    const samples = await sampled(model, nowhere);
    const metrics = await updatePolicy(trainer, reference, samples, loss, adamw(1e-3));
    assert.equal(metrics.logProbDifferenceMax, 0);
    assert.equal(metrics.logProbDifferenceMean, 0);
    assert.equal(metrics.ratioMean, 1);
    assert.equal(metrics.clipRatio, 0);
    const count = samples.reduce((sum, { response }) => sum + response.length, 0);
    assert.equal(metrics.tokens, count);
    // With ratio 1 the surrogate is minus the mean advantage.
    const advantages = samples.flatMap((sample) => [...sample.advantages]);
    const mean = advantages.reduce((a, b) => a + b, 0) / count;
    assert.ok(Math.abs(metrics.policyLoss + mean) < 1e-6);
    assert.ok(metrics.kl > 0);
    assert.equal(trainer.optimizer.step, 1);
  });
});

onEveryGpu("policy update: mini-batches and epochs are optimizer steps", async (gpu) => {
  await withPolicies(gpu, async (model, _, trainer) => {
    const samples = await sampled(model, nowhere);
    const options = { ...loss, miniBatches: 3, epochs: 2, klCoefficient: 0 };
    const metrics = await updatePolicy(trainer, null, samples, options, adamw(1e-3));
    assert.equal(trainer.optimizer.step, 6);
    const count = samples.reduce((sum, { response }) => sum + response.length, 0);
    assert.equal(metrics.tokens, 2 * count);
    assert.equal(metrics.kl, 0);
    // Only what was measured before the first step is compared with the rollout.
    assert.equal(metrics.logProbDifferenceMax, 0);
    assert.notEqual(metrics.ratioMean, 1);
  });
});

onEveryGpu(
  "policy update: several optimizer steps are those of the mini-batches alone",
  async (gpu) => {
    await withPolicies(gpu, async (model, reference, trainer) => {
      const samples = await sampled(model, nowhere);
      const before = await model.parameters.read();
      const restart = () => {
        model.parameters.set(before);
        forgetUpdates(model, trainer.optimizer);
      };
      const rate = 0.02;
      const whole = { ...loss, miniBatches: 2, epochs: 2 };
      restart();
      const metrics = await updatePolicy(trainer, reference, samples, whole, adamw(rate));
      const weights = await model.parameters.read();
      restart();
      const half = samples.length / 2;
      const parts: PolicyUpdateMetrics[] = [];
      for (const first of [0, half, 0, half]) {
        const part = samples.slice(first, first + half);
        parts.push(await updatePolicy(trainer, reference, part, loss, adamw(rate)));
      }
      assert.deepEqual(await model.parameters.read(), weights);
      assert.equal(parts[0].ratioMean, 1);
      assert.equal(parts[0].clipRatio, 0);
      for (const { ratioMean, clipRatio } of parts.slice(1)) {
        assert.notEqual(ratioMean, 1);
        assert.ok(clipRatio > 0);
      }
      // The metrics are means over the tokens of all steps.
      const tokens = parts.reduce((sum, part) => sum + part.tokens, 0);
      assert.equal(metrics.tokens, tokens);
      for (const name of ["ratioMean", "clipRatio", "policyLoss", "kl", "entropy"] as const) {
        const mean = parts.reduce((sum, part) => sum + part.tokens * part[name], 0) / tokens;
        assertClose([metrics[name]], [mean], {
          absolute: 1e-9,
          relative: 1e-9,
          why: "the same f32 terms, added up in f64 in another order",
        });
      }
      // Only the rollout's own log-probs, those of the first step, are compared with the trainer's.
      assert.equal(metrics.logProbDifferenceMax, 0);
      assert.ok((parts[1].logProbDifferenceMax ?? 0) > 0);
    });
  },
);

onEveryGpu("policy update: a gradient that is not finite leaves the weights alone", async (gpu) => {
  await withPolicies(gpu, async (model, _, trainer) => {
    const samples = await sampled(model, nowhere);
    samples[2].advantages[0] = Infinity;
    const before = await model.parameters.read();
    const options = { ...loss, klCoefficient: 0 };
    const metrics = await updatePolicy(trainer, null, samples, options, adamw(1e-3));
    assert.ok(metrics.nonFinite > 0);
    assert.equal(trainer.optimizer.step, 0);
    assert.deepEqual(await model.parameters.read(), before);
  });
});
