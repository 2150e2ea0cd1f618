import assert from "node:assert/strict";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import { RandomStream } from "../../../src/random/philox.ts";
import type { Model } from "../../../src/model/decoder/model.ts";
import type { Trainer, TrainerOptions } from "../../../src/engine/training/trainer.ts";
import { forwardOnly } from "../../../src/model/decoder/forward.ts";
import { headForward } from "../../../src/model/decoder/head.ts";
import { packSequences } from "../../model/pack_sequences.ts";
import {
  type PolicySample,
  type PolicyUpdateMetrics,
  updatePolicy,
} from "../../../src/rl/update/policy_update.ts";
import { generate } from "../../engine/sampling/generate.ts";
import { assertClose, onEveryGpu } from "../../kernels/harness.ts";
import { clippedSurrogate, klEstimate } from "../../kernels/policy_loss_reference.ts";
import { largestDifference, readGradients } from "../../model/fixture.ts";
import {
  adamwNumbers,
  forgetUpdates,
  tinyConfig,
  tinyModel,
  tinyTrainer,
} from "../../model/tiny_model.ts";
import { lossOptions } from "./loss_options.ts";

const loss = lossOptions({
  clipRatioHigh: 0.28,
  klCoefficient: 0.05,
  entropyCoefficient: 0.01,
  temperature: 0.9,
});

const random = new RandomStream(11, 97);
const tokens = (count: number) =>
  Uint32Array.from({ length: count }, () => random.integer(tinyConfig.vocabularySize));

/** Made-up prompts and how many responses each gets, of different lengths, with advantages of both signs. */
const prompts = [[1, 1], [9, 3], [33, 1], [20, 2], [1, 2], [31, 1]].map(([length, responses]) => ({
  prompt: tokens(length),
  responses,
}));

/**
 * Moves an old log-prob, by a little or beyond the clip bounds (log 0.8 = -0.22, log 1.28 = 0.25 nats)
 * and never near them: there, the loss has a kink that finite differences would trip over.
 *
 * @param draw uniform from -1 to 1
 */
const spread = (draw: number) => Math.abs(draw) < 0.5 ? 0.1 * draw : 0.5 * Math.sign(draw);
const nowhere = () => 0;

/** Samples whose old log-probs are those of `model`, moved. */
async function sampled(model: Model, move: (draw: number) => number): Promise<PolicySample[]> {
  let id = 0;
  const requests = prompts.map(({ prompt, responses }) => ({
    prompt,
    sequenceIds: Array.from({ length: responses }, () => id++),
  }));
  const responses = await generate(model, requests, {
    temperature: loss.temperature,
    topK: 0,
    topP: 1,
    minP: 0,
    seed: 4,
    stream: 1,
    step: 0,
    stopTokens: [3, 9],
    maximumResponse: 20,
    slots: 6,
    stepsBetweenReadbacks: 8,
  });
  const draws = new RandomStream(12, 97);
  return responses.flatMap((group, i) =>
    group.map(({ tokens, logProbs }) => ({
      prompt: prompts[i].prompt,
      response: tokens,
      oldLogProbs: logProbs.map((logProb) => logProb + move(2 * draws.uniform() - 1)),
      advantages: logProbs.map(() => 2 * draws.uniform() - 0.8),
    }))
  );
}

/** What each step of these tests is made with. */
const adamw = (learningRate: number) => adamwNumbers(learningRate, { weightDecay: 0.01 });

async function withPolicies(
  gpu: Gpu,
  body: (model: Model, reference: Model, trainer: Trainer) => Promise<void>,
): Promise<void> {
  const model = tinyModel(gpu);
  const reference = tinyModel(gpu, { trained: false });
  const trainer = tinyTrainer(model);
  try {
    // A reference a little off the policy, so that the KL term has a gradient.
    const weights = await model.parameters.read();
    const draws = new RandomStream(13, 97);
    const moved = Object.entries(weights).map(([name, data]) =>
      [name, data.map((w) => w * (1 + 0.1 * (2 * draws.uniform() - 1)))] as const
    );
    reference.parameters.set(Object.fromEntries(moved));
    await body(model, reference, trainer);
  } finally {
    trainer.release();
    reference.release();
    model.release();
  }
}

/** Runs `body` with another trainer of the model. */
async function withTrainer<Made>(
  model: Model,
  options: Partial<TrainerOptions>,
  body: (trainer: Trainer) => Promise<Made>,
): Promise<Made> {
  const trainer = tinyTrainer(model, options);
  try {
    return await body(trainer);
  } finally {
    trainer.release();
  }
}

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
      assert.ok(parts[1].logProbDifferenceMax > 0);
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
    assertClose([metrics.logProbDifferenceMax], [spread(1)], {
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
      const weights = await model.parameters.read();
      for (const [name, gradient] of Object.entries(gradients)) {
        // The steepest element: there, the loss's own rounding matters least.
        const place = gradient.reduce(
          (best, slope, i) => Math.abs(slope) > Math.abs(gradient[best]) ? i : best,
          0,
        );
        const step = 2 ** -8;
        const moved = async (by: number) => {
          const data = weights[name].slice();
          data[place] += by;
          model.parameters.set({ ...weights, [name]: data });
          return await lossNow();
        };
        // Five points: the error is of fourth order in the step.
        const near = await moved(step) - await moved(-step);
        const far = await moved(2 * step) - await moved(-2 * step);
        try {
          assertClose([(8 * near - far) / (12 * step)], [gradient[place]], {
            absolute: 3e-5,
            relative: 1e-3,
            why: "the loss is good to about 1e-7, divided by a step of 4e-3",
          });
        } catch (cause) {
          throw new Error(`${name}, ${klEstimator}: ${(cause as Error).message}`, { cause });
        }
      }
      model.parameters.set(weights);
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
      // The same without them; a masked sample's rows still pass through the sums, as zeros.
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
