/** Weights that are trained while the model reads them in 16 bits: f32 masters, rounded after each update. */

import assert from "node:assert/strict";
import { savedState, stateReceiver } from "../../../src/engine/training/saved_state.ts";
import { fromStorage, toStorage } from "../../../src/model/decoder/half_precision.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { Model } from "../../../src/model/decoder/model.ts";
import { adamwNumbers, tinyModel } from "../../model/tiny_model.ts";
import {
  batches,
  clippedLoss,
  type Kind,
  savedBytes,
  steps,
  tiedKind,
  withTraining,
} from "./small_training.ts";

const training = { microBatchTokens: 60, shards: 4 };

for (const storage of ["f16", "bf16"] as const) {
  const kind: Kind = { ...tiedKind, storage };

  onEveryGpu(`${storage}: a step is that of the same numbers in f32, then rounded`, async (gpu) => {
    const halves = await withTraining(gpu, kind, training, async (trainer) => {
      const { parameters } = trainer.model;
      const before = await parameters.read();
      const made = await steps(trainer, 1);
      const masters = await savedBytes(trainer);
      const rounded = await gpu.readAll(parameters.weights);
      parameters.weights.forEach(({ dtype }, i) =>
        assert.deepEqual(rounded[i], toStorage(masters[`weights.${i}`], dtype))
      );
      assert.ok(parameters.weights.some(({ dtype }) => dtype === storage));
      return { before, made, masters };
    });
    await withTraining(gpu, tiedKind, training, async (trainer) => {
      const { parameters } = trainer.model;
      parameters.set(halves.before);
      const { losses, norms, outputs } = await steps(trainer, 1);
      const { made } = halves;
      assert.deepEqual({ losses, norms, outputs }, {
        losses: made.losses,
        norms: made.norms,
        outputs: made.outputs,
      });
      // Masters lie in other segments than f32 weights.
      const sorted = (floats: readonly Float32Array[]) =>
        Float32Array.from(floats.flatMap((one) => [...one])).filter((one) => one !== 0).sort();
      const masters = Object.entries(halves.masters)
        .filter(([name]) => name.startsWith("weights.")).map(([, values]) => values);
      const floats = (await gpu.readAll(parameters.weights)).map((one) => fromStorage(one, "f32"));
      assert.deepEqual(sorted(masters), sorted(floats));
    });
  });
}

onEveryGpu("weights that are only asked are cut as those in training", (gpu) => {
  const segmentBytes = 16384;
  const trained = tinyModel(gpu, { storage: "bf16", segmentBytes });
  const options = { trained: false, cutForTraining: true, storage: "bf16", segmentBytes } as const;
  const asked = Model.create(gpu, trained.config, options);
  const copy = trained.snapshot();
  const sizes = ({ parameters }: Model) =>
    parameters.weights.map(({ size, dtype }) => [size, dtype]);
  assert.ok(trained.parameters.weights.length > 2);
  assert.deepEqual(sizes(asked), sizes(trained));
  assert.deepEqual(sizes(copy), sizes(trained));
  assert.ok(trained.parameters.gradients?.every(({ bytes }) => bytes <= segmentBytes));
  const lent = trained.withinGradients();
  assert.deepEqual(sizes(lent), sizes(trained));
  for (const model of [lent, asked, copy, trained]) model.release();
  return Promise.resolve();
});

onEveryGpu("updates smaller than a rounding add up in the masters", async (gpu) => {
  await withTraining(gpu, { ...tiedKind, storage: "bf16" }, training, async (trainer) => {
    const [tensor] = trainer.model.parameters.weights.keys();
    const before = await savedBytes(trainer);
    const rounded = await gpu.read(trainer.model.parameters.weights[tensor]);
    const update = async () => {
      await trainer.forwardBackward(batches[0], clippedLoss);
      await trainer.optimStep(adamwNumbers(1e-7));
    };
    await update();
    const after = await savedBytes(trainer);
    const name = `weights.${tensor}`;
    const moved = before[name].filter((weight, i) => weight !== after[name][i]).length;
    const shown = (await gpu.read(trainer.model.parameters.weights[tensor]))
      .filter((half, i) => half !== rounded[i]).length;
    // At 1e-7 next to none of them leaves the numbers that round to the same.
    assert.ok(moved > before[name].length / 2 && shown < moved / 100, `${moved}, ${shown}`);
  });
});

onEveryGpu("weights that are set beside their masters are not updated from these", async (gpu) => {
  await withTraining(gpu, { ...tiedKind, storage: "bf16" }, training, async (trainer) => {
    const { parameters } = trainer.model;
    parameters.set(await parameters.read());
    await assert.rejects(trainer.optimStep(adamwNumbers(1e-3)), /their masters were not/);
  });
});

onEveryGpu("what is saved of other weights is refused", async (gpu) => {
  const saved = await withTraining(gpu, tiedKind, training, (trainer) => savedBytes(trainer));
  await withTraining(gpu, { ...tiedKind, storage: "bf16" }, training, (trainer) => {
    assert.ok(Object.keys(savedState(trainer)).length > Object.keys(saved).length);
    const entries = Object.entries(saved).map(([name, { length }]) =>
      [name, { dtype: "F32", shape: [length], begin: 0, end: 4 * length }] as const
    );
    const differs = (kind: string) => new Error(`${kind} differ`);
    assert.throws(() => stateReceiver(trainer, new Map(entries), differs), /weights differ/);
    return Promise.resolve();
  });
});
