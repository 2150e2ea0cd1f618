/** Responses that change no gradient are not computed; what an update does and says without them. */

import assert from "node:assert/strict";
import { promptedSequence } from "../../../src/engine/training/sequence.ts";
import { type PolicySample, updatePolicy } from "../../../src/rl/update/policy_update.ts";
import { clippedSurrogate } from "../../kernels/losses/policy_loss_reference.ts";
import { assertClose, onEveryGpu } from "../../kernels/harness.ts";
import { forgetUpdates } from "../../model/tiny_model.ts";
import { adamw, loss, sampled, spread, withPolicies } from "./sampled_policies.ts";

const options = { ...loss, klCoefficient: 0, entropyCoefficient: 0 };
const isIdle = (place: number) => place % 2 === 0;

/** Every other one without an advantage. */
const halfIdle = (samples: readonly PolicySample[]): PolicySample[] =>
  samples.map((sample, place) =>
    isIdle(place) ? { ...sample, advantages: sample.advantages.map(() => 0) } : sample
  );

onEveryGpu("idle responses: the step is the one with them, bit for bit", async (gpu) => {
  await withPolicies(gpu, async (model, _, trainer) => {
    const samples = halfIdle(await sampled(model, spread));
    const before = await model.parameters.read();
    const metrics = await updatePolicy(trainer, null, samples, options, adamw(1e-3));
    const weights = await model.parameters.read();
    model.parameters.set(before);
    forgetUpdates(model, trainer.optimizer);
    const tokens = samples.reduce((sum, { response }) => sum + response.length, 0);
    const sequences = samples.map(({ prompt, response, ...sample }) => ({
      ...promptedSequence(prompt, response),
      ...sample,
      weights: new Float32Array(response.length).fill(1 / tokens),
    }));
    const { clipRatioLow, clipRatioHigh } = options;
    const { outputs } = await trainer.forwardBackward(
      sequences,
      { name: "ppo", clipRatioLow, clipRatioHigh, kl: null, entropyCoefficient: 0 },
      options.temperature,
    );
    await trainer.optimStep(adamw(1e-3));
    assert.deepEqual(await model.parameters.read(), weights);
    assert.notDeepEqual(weights, before);
    // The loss is a mean over all tokens, of which the idle ones give 0; the rest over those computed.
    const computed = samples.flatMap(({ oldLogProbs, advantages }, s) =>
      isIdle(s) ? [] : Array.from(outputs[s].logProbs, (logProb, i) => ({
        ...{ logProb, oldLogProb: oldLogProbs[i], advantage: advantages[i] },
        entropy: outputs[s].entropies[i],
      }))
    );
    const terms = computed.map((token) => clippedSurrogate(token, options));
    const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);
    assert.equal(metrics.tokens, tokens);
    assertClose([metrics.policyLoss, metrics.entropy, metrics.ratioMean, metrics.clipRatio], [
      sum(terms.map(({ value }) => value)) / tokens,
      sum(computed.map(({ entropy }) => entropy)) / computed.length,
      sum(terms.map(({ ratio }) => ratio)) / computed.length,
      sum(terms.map(({ clipped }) => clipped ? 1 : 0)) / computed.length,
    ], { absolute: 2e-6, relative: 0, why: "exp in f32 is off by some 1e-7 of values up to 2" });
    assert.ok(computed.length < tokens);
  });
});

onEveryGpu("idle responses: those watched are measured, no others", async (gpu) => {
  await withPolicies(gpu, async (model, _, trainer) => {
    const samples = halfIdle(await sampled(model, spread));
    const all = samples.map((sample) => ({ ...sample, isWatched: true }));
    const whole = await updatePolicy(trainer, null, all, options, adamw(0));
    assert.equal(whole.logProbDifferences.size, samples.length);
    const one = samples.map((sample, place) => ({ ...sample, isWatched: place === 2 }));
    const { logProbDifferences, logProbDifferenceMean } = await updatePolicy(
      trainer,
      null,
      one,
      options,
      adamw(0),
    );
    assert.deepEqual([...logProbDifferences], [[2, whole.logProbDifferences.get(2)]]);
    const measured = samples.keys().filter((place) => place === 2 || !isIdle(place));
    const differences = measured.flatMap((place) => whole.logProbDifferences.get(place) ?? [])
      .map(Math.abs).toArray();
    assertClose([logProbDifferenceMean ?? NaN], [
      differences.reduce((a, b) => a + b, 0) / differences.length,
    ], { absolute: 1e-7, relative: 0, why: "differences of up to 0.5, rounded to f32" });
  });
});

onEveryGpu("idle responses: a batch of nothing else is a step without a gradient", async (gpu) => {
  await withPolicies(gpu, async (model, _, trainer) => {
    const samples = (await sampled(model, spread))
      .map((sample) => ({ ...sample, advantages: sample.advantages.map(() => 0) }));
    const before = await model.parameters.read();
    const numbers = adamw(1e-3);
    const metrics = await updatePolicy(trainer, null, samples, options, numbers);
    assert.deepEqual(metrics.applied, [true]);
    assert.equal(metrics.gradientNorm, 0);
    assert.equal(metrics.logProbDifferenceMax, null);
    assert.ok(metrics.tokens > 0);
    // Nothing but the weights' decay.
    const decay = 1 - numbers.learningRate * numbers.weightDecay;
    for (const [name, weights] of Object.entries(await model.parameters.read())) {
      assertClose(weights, before[name].map((weight) => weight * decay), {
        absolute: 0,
        relative: 2 ** -22,
        why: "a product in f32",
      });
    }
  });
});

onEveryGpu("masked groups: mini-batches are cut from the others", async (gpu) => {
  await withPolicies(gpu, async (model, _, trainer) => {
    const samples = (await sampled(model, spread))
      .map((sample, place) => ({ ...sample, isMasked: [0, 1, 2, 6].includes(place) }));
    const before = await model.parameters.read();
    const halves = { ...options, miniBatches: 2 };
    const { applied, tokens } = await updatePolicy(trainer, null, samples, halves, adamw(0.01));
    const weights = await model.parameters.read();
    assert.equal(applied.length, 2);
    model.parameters.set(before);
    forgetUpdates(model, trainer.optimizer);
    const learned = samples.filter(({ isMasked }) => !isMasked);
    const half = Math.ceil(learned.length / 2);
    let counted = 0;
    for (const part of [learned.slice(0, half), learned.slice(half)]) {
      counted += (await updatePolicy(trainer, null, part, options, adamw(0.01))).tokens;
    }
    assert.deepEqual(await model.parameters.read(), weights);
    assert.equal(tokens, counted);
  });
});
