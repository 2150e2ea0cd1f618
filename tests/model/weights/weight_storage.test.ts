/**
 * Frozen weights in f16 and bf16: the kernels widen them exactly, so a model stored in halves gives the very
 * bits that an f32 model of the same (rounded) weights gives. Differences are compared with 0.
 */

import assert from "node:assert/strict";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import { initialise, initialiseAdapter } from "../../../src/model/decoder/initialise.ts";
import type { WeightStorage } from "../../../src/model/decoder/layout.ts";
import { loraTargets } from "../../../src/model/decoder/lora.ts";
import { Model } from "../../../src/model/decoder/model.ts";
import { storageOf } from "../../../src/model/weights/weight_storage.ts";
import type { WeightFile } from "../../../src/model/weights/weight_file.ts";
import { updatePolicy } from "../../../src/rl/update/policy_update.ts";
import { generate } from "../../engine/sampling/generate.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { lossOptions } from "../../rl/update/loss_options.ts";
import { adamwNumbers, tinyConfig, tinyTrainer } from "../tiny_model.ts";

/** A frozen base with a trained adapter, whose B is not zero. */
function adapted(gpu: Gpu, base: Model): Model {
  const config = { rank: 4, alpha: 8, targets: [...loraTargets] };
  const model = base.adapted({ config, basePath: "", trained: true });
  const parameters = model.adapter?.parameters;
  if (!parameters) throw new Error("no adapter");
  initialiseAdapter(parameters, 3);
  for (const weights of parameters.weights) {
    gpu.write(weights, Float32Array.from({ length: weights.size }, (_, i) => Math.sin(i) / 8));
  }
  return model;
}

/** What a rollout and an update of the adapter give. */
async function outcome(gpu: Gpu, base: Model) {
  const model = adapted(gpu, base);
  const trainer = tinyTrainer(model);
  const prompt = Uint32Array.from({ length: 9 }, (_, i) => (7 * i) % 64);
  const [responses] = await generate(model, [{ prompt, sequenceIds: [0, 1, 2] }], {
    temperature: 1,
    topK: 0,
    topP: 1,
    minP: 0,
    seed: 3,
    stream: 2,
    step: 1,
    stopTokens: [],
    maximumResponse: 10,
    slots: 2,
    stepsBetweenReadbacks: 5,
  });
  const samples = responses.map(({ tokens, logProbs }, i) => ({
    prompt,
    response: tokens,
    oldLogProbs: logProbs,
    advantages: new Float32Array(tokens.length).fill(i - 1),
  }));
  const metrics = await updatePolicy(
    trainer,
    base,
    samples,
    lossOptions({ klCoefficient: 0.1 }),
    adamwNumbers(1e-3),
  );
  assert.equal(metrics.logProbDifferenceMax, 0);
  const adapter = await model.adapter?.parameters.read();
  trainer.release();
  model.release();
  return { responses, metrics, adapter };
}

onEveryGpu(
  "a model stored in halves computes what an f32 model of the same weights does",
  async (gpu) => {
    const live = gpu.pool.liveBytes;
    for (const tiedEmbeddings of [true, false]) {
      const config = { ...tinyConfig, tiedEmbeddings, qkvBias: true };
      const whole = Model.create(gpu, config, { trained: false });
      const wholeBytes = gpu.pool.liveBytes - live;
      for (const storage of ["f16", "bf16"] as const) {
        const half = Model.create(gpu, config, { trained: false, storage });
        assert.ok(gpu.pool.liveBytes - live - wholeBytes < 0.8 * wholeBytes);
        initialise(half, 1, 0.3);
        const rounded = await half.parameters.read();
        whole.parameters.set(rounded);
        assert.deepEqual(await whole.parameters.read(), rounded);
        assert.deepEqual(await outcome(gpu, half), await outcome(gpu, whole), storage);
        half.release();
      }
      whole.release();
    }
    assert.equal(gpu.pool.liveBytes, live);
    assert.throws(
      () => Model.create(gpu, tinyConfig, { trained: true, storage: "f16" }),
      /cannot be trained/,
    );
  },
);

Deno.test("the storage that keeps a file's matrices: theirs when all have one, f16 when quantised", () => {
  const storageFor = (...types: readonly string[]): WeightStorage => {
    const tensors = new Map(types.map((type, i) => [`${i}`, { type, shape: [8, 8] }]));
    const part = (name: string, shape: number[]) => ({
      name,
      shape,
      first: 0,
      size: 64,
      offset: 0,
    });
    const blocks = types.map((_, i) => ({
      key: `${i}`,
      shape: [8, 8],
      parts: [part(`${i}`, [8, 8])],
    }));
    const norm = { key: "norm", shape: [8], parts: [part("norm", [8])] };
    const all = new Map([...tensors, ["norm", { type: "F32", shape: [8] }]]);
    return storageOf({ tensors: all } as unknown as WeightFile, [...blocks, norm]);
  };
  assert.equal(storageFor("F32", "F32"), "f32");
  assert.equal(storageFor("F16", "F16"), "f16");
  assert.equal(storageFor("BF16"), "bf16");
  assert.equal(storageFor("Q4_K", "Q6_K", "F16"), "f16");
  assert.equal(storageFor("BF16", "F32"), "f32");
  assert.equal(storageFor("BF16", "Q8_0"), "f32");
});
