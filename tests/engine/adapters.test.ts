import assert from "node:assert/strict";
import { Adapters, type TrainedAdapter } from "../../src/engine/adapters.ts";
import type { PolicyGradientLoss, SampledSequence } from "../../src/engine/training/losses.ts";
import { promptedSequence } from "../../src/engine/training/sequence.ts";
import { Trainer } from "../../src/engine/training/trainer.ts";
import type { Gpu } from "../../src/gpu/gpu.ts";
import { loraTargets, targetsIn } from "../../src/model/decoder/lora.ts";
import type { Model } from "../../src/model/decoder/model.ts";
import { RandomStream } from "../../src/random/philox.ts";
import { onEveryGpu } from "../kernels/harness.ts";
import { adamwNumbers, tinyModel } from "../model/tiny_model.ts";
import { generate } from "./sampling/generate.ts";
import { Sampler } from "../../src/engine/sampling/sampler.ts";
import { expertsKind } from "./training/small_training.ts";

const trainer = {
  microBatchTokens: 60,
  sharePrompts: true,
  gradientCheckpointing: false,
  shards: 1,
};
const configs = {
  one: { rank: 8, alpha: 16, targets: [...loraTargets] },
  other: { rank: 4, alpha: 8, targets: ["q_proj", "v_proj", "down_proj"] as const },
};
type Name = keyof typeof configs;

/** Their bases; of the second one layer has experts, each with adapters of its own. */
const bases = { "one base": {}, "one base with experts": expertsKind.config } as const;
type Base = keyof typeof bases;

const made = (adapters: Adapters, name: Name) => {
  const targets = targetsIn(adapters.base.config, configs[name].targets);
  const config = { ...configs[name], targets };
  return adapters.create(name, { config, seed: name.length, trainer });
};

const loss: PolicyGradientLoss = { name: "importance_sampling", kl: null, entropyCoefficient: 0 };

/** One step of an adapter on a batch of its own. */
async function learn({ trainer }: TrainedAdapter, name: Name, step: number): Promise<void> {
  const random = new RandomStream(name.length, 40 + step);
  const tokens = (length: number) => Uint32Array.from({ length }, () => random.integer(64));
  const batch = [3, 9, 20].map((length): SampledSequence => {
    const response = tokens(12);
    const floats = (size: number) =>
      Float32Array.from(response, () => size * (2 * random.uniform() - 1));
    return {
      ...promptedSequence(tokens(length), response),
      oldLogProbs: floats(0.5).map((x) => x - 4),
      advantages: floats(1),
      weights: new Float32Array(12).fill(1 / 36),
    };
  });
  await trainer.forwardBackward(batch, loss);
  const { nonFinite } = await trainer.optimStep(adamwNumbers(0.02));
  assert.equal(nonFinite, 0);
}

/** Tokens and log-probs of two responses. */
const sample = (model: Model) =>
  generate(model, [{ prompt: Uint32Array.of(5, 6, 7), sequenceIds: [0, 1] }], {
    ...{ temperature: 1, topK: 0, topP: 1, minP: 0, seed: 4, stream: 1, step: 0 },
    ...{ stopTokens: [], maximumResponse: 12, slots: 2, stepsBetweenReadbacks: 4 },
  });

const weightsOf = ({ model }: TrainedAdapter) => model.adapter?.parameters.read();

/** What three steps make of an adapter that has a process to itself, and what it said after two of them. */
async function alone(gpu: Gpu, config: (typeof bases)[Base], name: Name) {
  const base = tinyModel(gpu, { config, trained: false });
  const adapters = new Adapters(base, "base");
  const adapter = made(adapters, name);
  const before = await sample(adapter.model);
  assert.deepEqual(before, await sample(base), "a new adapter changes nothing");
  await learn(adapter, name, 1);
  await learn(adapter, name, 2);
  const afterTwo = await sample(adapter.model);
  await learn(adapter, name, 3);
  const found = {
    afterTwo,
    afterThree: await sample(adapter.model),
    weights: await weightsOf(adapter),
  };
  assert.notDeepEqual(found.afterTwo, before);
  assert.notDeepEqual(found.afterThree, found.afterTwo);
  adapters.release();
  base.release();
  return found;
}

for (const [what, config] of Object.entries(bases)) {
  onEveryGpu(
    `two adapters trained in turns on ${what}, and a snapshot of the first: each as if it were alone`,
    async (gpu) => {
      const expected = {
        one: await alone(gpu, config, "one"),
        other: await alone(gpu, config, "other"),
      };
      const base = tinyModel(gpu, { config, trained: false });
      const untouched = await base.parameters.read();
      const adapters = new Adapters(base, "base");
      const one = made(adapters, "one");
      await learn(one, "one", 1);
      // The second comes while the first is in training.
      const other = made(adapters, "other");
      await learn(other, "other", 1);
      await learn(one, "one", 2);
      const snapshot = one.model.snapshot();
      const { weightsVersion } = snapshot;
      await learn(other, "other", 2);
      assert.deepEqual(await sample(snapshot), expected.one.afterTwo);
      await learn(one, "one", 3);
      assert.deepEqual(await sample(other.model), expected.other.afterTwo);
      assert.deepEqual(await sample(snapshot), expected.one.afterTwo, "the first has gone on");
      await learn(other, "other", 3);
      assert.deepEqual(await sample(one.model), expected.one.afterThree);
      assert.deepEqual(await sample(other.model), expected.other.afterThree);
      assert.deepEqual(await weightsOf(one), expected.one.weights);
      assert.deepEqual(await weightsOf(other), expected.other.weights);
      assert.deepEqual(await base.parameters.read(), untouched);
      adapters.drop("one");
      assert.deepEqual(adapters.names, ["other"]);
      assert.deepEqual(await sample(snapshot), expected.one.afterTwo, "the first is gone");
      assert.equal(snapshot.weightsVersion, weightsVersion);
      adapters.release();
      base.release();
      // A snapshot keeps the base that it stands on.
      assert.deepEqual(await sample(snapshot), expected.one.afterTwo);
      snapshot.release();
    },
  );
}

onEveryGpu(
  "an adapter that was dropped is not computed with, and its successor minds nothing",
  async (gpu) => {
    const base = tinyModel(gpu, { trained: false });
    const adapters = new Adapters(base, "base");
    const dropped = made(adapters, "one");
    const sampler = new Sampler(dropped.model, { slots: 2, stepsBetweenReadbacks: 4 });
    const ends: string[] = [];
    sampler.add({
      ...{ temperature: 1, topK: 0, topP: 1, minP: 0, seed: 4, stream: 1, step: 0, sequenceId: 0 },
      ...{ prompt: Uint32Array.of(5, 6, 7), stopTokens: [], maximumResponse: 12 },
      listener: { end: ({ end }) => ends.push(end.reason) },
    });
    await sampler.step();
    adapters.drop("one");
    const next = made(adapters, "one");
    const released = { message: "the model was released" };
    await assert.rejects(sampler.step(), released);
    await assert.rejects(learn(dropped, "one", 1), released);
    await assert.rejects(dropped.trainer.optimStep(adamwNumbers(0.1)), released);
    assert.throws(() => dropped.model.snapshot(), released);
    assert.throws(() => dropped.model.adapted(null), released);
    assert.throws(() => dropped.model.release(), released);
    const reference = {
      ...loss,
      kl: { coefficient: 1, estimator: "k3", reference: dropped.model },
    };
    await assert.rejects(
      next.trainer.forwardBackward([], reference as PolicyGradientLoss),
      released,
    );
    sampler.close();
    assert.deepEqual(ends, ["aborted"]);
    await learn(next, "one", 1);
    const found = await sample(next.model);
    // A base that is released again does not go from under an adapter.
    base.release();
    assert.throws(() => base.release(), released);
    assert.deepEqual(await sample(next.model), found);
    adapters.release();
  },
);

onEveryGpu("a snapshot of a model whose every weight is trained stays what it was", async (gpu) => {
  for (const tiedEmbeddings of [true, false]) {
    const model = tinyModel(gpu, { config: { tiedEmbeddings } });
    const adapter = { model, trainer: new Trainer(model, trainer) };
    const before = await sample(model);
    const snapshot = model.snapshot();
    assert.equal(snapshot.trainable, null);
    await learn(adapter, "one", 1);
    assert.notDeepEqual(await sample(model), before);
    assert.deepEqual(await sample(snapshot), before);
    adapter.trainer.release();
    model.release();
    assert.deepEqual(await sample(snapshot), before);
    snapshot.release();
  }
});

onEveryGpu("an adapter that cannot be made, or is not there, is refused by name", async (gpu) => {
  const base = tinyModel(gpu, { trained: false });
  const adapters = new Adapters(base, "base");
  made(adapters, "one");
  const refused = (body: () => void, message: RegExp) =>
    assert.throws(body, { name: "UserError", message });
  refused(() => made(adapters, "one"), /There is an adapter one already/);
  refused(() => adapters.get("two"), /There is no adapter two; there are: one\./);
  refused(() => adapters.drop("two"), /There is no adapter two/);
  const config = { ...configs.one, rank: 6 };
  refused(
    () => adapters.create("six", { config, seed: 1, trainer }),
    /Adapter six: rank is 6; expected a multiple of 4/,
  );
  adapters.drop("one");
  made(adapters, "one");
  adapters.release();
  base.release();
  await gpu.finish();
});
