import assert from "node:assert/strict";
import { forwardSequences } from "../../../src/engine/training/forward.ts";
import type { TrainingSequence } from "../../../src/engine/training/sequence.ts";
import type { Model } from "../../../src/model/decoder/model.ts";
import { RandomStream } from "../../../src/random/philox.ts";
import {
  supervisedLoss,
  type SupervisedSample,
  updateSupervised,
} from "../../../src/rl/update/supervised_update.ts";
import { generate } from "../../engine/sampling/generate.ts";
import { assertClose, onEveryGpu } from "../../kernels/harness.ts";
import { readGradients } from "../../model/fixture.ts";
import { adamwNumbers, tinyModel, tinyTrainer } from "../../model/tiny_model.ts";

/** What only computes log-probs, in passes of so many tokens. */
const forwardOf = (model: Model, microBatchTokens: number) => ({
  forward: (sequences: readonly TrainingSequence[]) =>
    forwardSequences(model, sequences, { microBatchTokens, sharePrompts: true }),
});

/** Responses that repeat their prompt backwards, all tokens counting alike. */
function reversals(count: number): SupervisedSample[] {
  const random = new RandomStream(2, 96);
  return Array.from({ length: count }, () => {
    const prompt = Uint32Array.from({ length: 2 + random.integer(5) }, () => random.integer(64));
    return {
      prompt,
      response: prompt.toReversed(),
      weights: new Float32Array(prompt.length).fill(1),
    };
  });
}

onEveryGpu("supervised update: the loss of a small set falls close to 0", async (gpu) => {
  const model = tinyModel(gpu, { deviation: 0.02 });
  const trainer = tinyTrainer(model);
  const samples = reversals(8);
  const losses: number[] = [];
  for (let step = 0; step < 40; step++) {
    losses.push((await updateSupervised(trainer, samples, adamwNumbers(0.01))).loss);
  }
  trainer.release();
  model.release();
  console.log(`[${gpu.info.engine}] loss ${losses[0].toFixed(3)} -> ${losses[39].toFixed(3)}`);
  // An untrained model is undecided between 64 tokens: log 64 = 4.16 nats.
  assert.ok(Math.abs(losses[0] - Math.log(64)) < 0.1);
  assert.ok(losses[39] < 0.3, `${losses[39]}`);
});

onEveryGpu("supervised update: the cut into micro-batches changes no bit", async (gpu) => {
  const samples = reversals(8);
  const run = async (microBatchTokens: number) => {
    const model = tinyModel(gpu);
    const trainer = tinyTrainer(model, { microBatchTokens });
    const metrics = await updateSupervised(trainer, samples, adamwNumbers(0.01));
    const made = {
      metrics,
      gradients: await readGradients(model),
      weights: await model.parameters.read(),
    };
    trainer.release();
    model.release();
    return made;
  };
  const whole = await run(8192);
  assert.deepEqual(await run(1), whole);
  assert.deepEqual(await run(20), whole);
});

onEveryGpu("supervised update: a token of weight 0 teaches nothing", async (gpu) => {
  const gradientsOf = async (samples: readonly SupervisedSample[]) => {
    const model = tinyModel(gpu);
    const trainer = tinyTrainer(model);
    await updateSupervised(trainer, samples, adamwNumbers(0));
    const gradients = await readGradients(model);
    trainer.release();
    model.release();
    return gradients;
  };
  const prompt = Uint32Array.of(1, 2, 3);
  const whole = {
    prompt,
    response: Uint32Array.of(4, 5, 6, 7),
    weights: Float32Array.of(2, 2, 0, 0),
  };
  const cut = { prompt, response: Uint32Array.of(4, 5), weights: Float32Array.of(1, 1) };
  // Zeros are added to sums, and the weights' sum is what they are measured against.
  assert.deepEqual(await gradientsOf([whole]), await gradientsOf([cut]));
});

onEveryGpu(
  "supervised update: the loss is that of the response tokens, each after all before it",
  async (gpu) => {
    const model = tinyModel(gpu);
    const requests = [[5, 6, 7, 8, 9], [10]].map((prompt, i) => ({
      prompt: Uint32Array.from(prompt),
      sequenceIds: [2 * i, 2 * i + 1],
    }));
    const responses = await generate(model, requests, {
      ...{ temperature: 1, topK: 0, topP: 1, minP: 0, seed: 4, stream: 1, step: 0 },
      ...{ stopTokens: [3, 9], maximumResponse: 20, slots: 4, stepsBetweenReadbacks: 8 },
    });
    const samples = responses.flatMap((group, i) =>
      group.map(({ tokens, logProbs }) => ({
        prompt: requests[i].prompt,
        response: tokens,
        weights: new Float32Array(tokens.length).fill(1),
        logProbs,
      }))
    );
    const logProbs = samples.flatMap((sample) => [...sample.logProbs]);
    const expected = -logProbs.reduce((sum, value) => sum + value, 0) / logProbs.length;
    assertClose([await supervisedLoss(forwardOf(model, 8192), samples)], [expected], {
      absolute: 1e-12,
      relative: 1e-12,
      why: "the same log-probs to the last bit, added up in f64",
    });
    model.release();
  },
);

onEveryGpu(
  "supervised update: an example longer than the model's positions is refused",
  async (gpu) => {
    const model = tinyModel(gpu, { config: { maxPositions: 8 } });
    const trainer = tinyTrainer(model);
    const sample = (length: number): SupervisedSample => ({
      prompt: Uint32Array.of(1, 2, 3),
      response: new Uint32Array(length).fill(4),
      weights: new Float32Array(length).fill(1),
    });
    const refused = {
      name: "UserError",
      message: /An example has 9 tokens and the model 8 positions/,
    };
    await updateSupervised(trainer, [sample(5)], adamwNumbers(0.01));
    await assert.rejects(updateSupervised(trainer, [sample(6)], adamwNumbers(0.01)), refused);
    await assert.rejects(supervisedLoss(trainer, [sample(5), sample(6)]), refused);
    trainer.release();
    model.release();
  },
);

onEveryGpu(
  "gradient checkpointing gives the same bits in less memory; the loss alone is the same too",
  async (gpu) => {
    const samples: SupervisedSample[] = [20, 33, 7].map((length, i) => ({
      prompt: Uint32Array.of(1, 2 + i),
      response: Uint32Array.from({ length }, (_, t) => (5 * t + i) % 64),
      weights: new Float32Array(length).fill(1 + i),
    }));
    const config = { layers: 6 };
    const run = async (gradientCheckpointing: boolean) => {
      const model = tinyModel(gpu, { config });
      const trainer = tinyTrainer(model, { gradientCheckpointing });
      const before = gpu.pool.liveBytes;
      gpu.pool.peakBytes = before;
      const loss = await supervisedLoss(forwardOf(model, 40), samples);
      const metrics = await updateSupervised(trainer, samples, adamwNumbers(0.01));
      const peak = gpu.pool.peakBytes - before;
      // Each response is one of the weighted mean's terms in either.
      assertClose([loss], [metrics.loss], { absolute: 0, relative: 1e-6, why: "sums of passes" });
      const made = { metrics, weights: await model.parameters.read() };
      trainer.release();
      model.release();
      return { made, peak };
    };
    const whole = await run(false);
    const checkpointed = await run(true);
    assert.deepEqual(checkpointed.made, whole.made);
    assert.ok(checkpointed.peak < 0.5 * whole.peak, `${checkpointed.peak} of ${whole.peak} bytes`);
  },
);
