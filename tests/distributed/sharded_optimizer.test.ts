/** The optimizer's state is cut over the ranks: nobody has it all, and a checkpoint does not show it. */

import assert from "node:assert/strict";
import type { Trainer } from "../../src/engine/training/trainer.ts";
import type { Gpu } from "../../src/gpu/gpu.ts";
import { gradientReducer } from "../../src/distributed/gradient_reducer.ts";
import { rehearsedRank } from "../../src/distributed/rehearsed_rank.ts";
import { savedState } from "../../src/engine/training/saved_state.ts";
import type { Reducer } from "../../src/engine/training/reducer.ts";
import { updateSupervised } from "../../src/rl/update/supervised_update.ts";
import {
  type Kind,
  kinds,
  restore,
  savedBytes,
  steps,
  withTraining,
} from "../engine/training/small_training.ts";
import { assertClose, onEveryGpu } from "../kernels/harness.ts";
import { Reference, referenceNumbers, withFixture } from "../model/fixture.ts";
import { adamwNumbers, tinyTrainer } from "../model/tiny_model.ts";
import { onRanks } from "./in_process.ts";

const onReducers = <Result>(size: number, task: (reducer: Reducer) => Promise<Result>) =>
  onRanks(size, (communicator) => task(gradientReducer(communicator)));

const training = { microBatchTokens: 60, shards: 4 };

for (const [name, kind] of Object.entries(kinds)) {
  onEveryGpu(`${name}: 4 ranks save, 2 go on, then 1, with the bytes of one`, async (gpu) => {
    await saveAndGoOn(gpu, kind);
  });
}

async function saveAndGoOn(gpu: Gpu, kind: Kind): Promise<void> {
  const run = <Result>(reducer: Reducer | undefined, body: (trainer: Trainer) => Promise<Result>) =>
    withTraining(gpu, kind, { ...training, reducer }, body);
  const whole = await run(undefined, async (trainer) => {
    const saved: Record<string, Float32Array>[] = [];
    for (let i = 0; i < 3; i++) {
      await steps(trainer, 2);
      saved.push(await savedBytes(trainer));
    }
    return saved;
  });
  assert.ok(Object.keys(whole[0]).length >= 3);
  const [four] = await onReducers(4, (reducer) =>
    run(reducer, async (trainer) => {
      await steps(trainer, 2);
      return await savedBytes(trainer);
    }));
  assert.deepEqual(four, whole[0]);
  const [two] = await onReducers(2, (reducer) =>
    run(reducer, async (trainer) => {
      await restore(trainer, four, 2);
      await steps(trainer, 2);
      return await savedBytes(trainer);
    }));
  assert.deepEqual(two, whole[1]);
  const one = await run(undefined, async (trainer) => {
    await restore(trainer, two, 4);
    await steps(trainer, 2);
    return await savedBytes(trainer);
  });
  assert.deepEqual(one, whole[2]);
}

onEveryGpu("each rank has the moments of its own slices alone", async (gpu) => {
  const moments = ({ optimizer }: Trainer) =>
    optimizer.state.moments.reduce((sum, { size }) => sum + size, 0);
  const whole = await withTraining(gpu, {}, training, (trainer) => {
    const parameters = trainer.optimizer.gradients.reduce((sum, { size }) => sum + size, 0);
    assert.equal(moments(trainer), 2 * parameters);
    return Promise.resolve(moments(trainer));
  });
  for (const size of [2, 3]) {
    const own = await onReducers(
      size,
      (reducer) =>
        withTraining(
          gpu,
          {},
          { ...training, reducer },
          (trainer) => Promise.resolve(moments(trainer)),
        ),
    );
    assert.equal(own.reduce((sum, one) => sum + one, 0), whole);
    // Slices are whole partial sums of the norm: nobody has more than one slice more than another.
    assert.ok(Math.max(...own) - Math.min(...own) <= 2 * 8192, `${own}`);
  }
});

onEveryGpu("an update that was cut off leaves nothing that could be saved", async (gpu) => {
  const reducer: Reducer = {
    ...gradientReducer(rehearsedRank({ rank: 0, size: 2 })),
    gatherSlices: () => Promise.reject(new Error("the other rank is gone")),
  };
  await withTraining(gpu, {}, { ...training, reducer }, async (trainer) => {
    assert.doesNotThrow(() => savedState(trainer));
    await assert.rejects(trainer.optimStep(adamwNumbers(1e-3)), /the other rank is gone/);
    assert.throws(() => savedState(trainer), /cut off/);
    await assert.rejects(trainer.optimStep(adamwNumbers(1e-3)), /cut off/);
  });
});

onEveryGpu("pytorch: ten AdamW steps of 3 ranks", async (gpu) => {
  const reference = new Reference("qwen2");
  const { adamw, adamw_losses, adamw_grad_norms } = reference.scalars;
  // The whole of a sequence but its first token is the response to imitate.
  const samples = reference.sequences.map((sequence) => ({
    prompt: sequence.subarray(0, 1),
    response: sequence.subarray(1),
    weights: new Float32Array(sequence.length - 1).fill(1),
  }));
  await onReducers(3, (reducer) =>
    withFixture(gpu, "qwen2", { trained: true }, async (model) => {
      const changes = { microBatchTokens: 30, sharePrompts: false, shards: 3 };
      const trainer = tinyTrainer(model, changes, reducer);
      const losses: number[] = [], norms: number[] = [];
      for (let step = 0; step < adamw.steps; step++) {
        const update = await updateSupervised(
          trainer,
          samples,
          referenceNumbers(reference.scalars),
        );
        losses.push(update.loss);
        norms.push(update.gradientNorm);
      }
      trainer.release();
      // The bounds that one process keeps to.
      assertClose(losses, adamw_losses, reference.tolerance("adamw_losses", 4));
      assertClose(norms, adamw_grad_norms, reference.tolerance("adamw_grad_norms", 4));
      const after = await model.parameters.read();
      for (const name of reference.parameters) {
        const expected = reference.floats(`after.${name}`);
        assertClose(after[name], expected, reference.tolerance("after", 16));
      }
    }));
});
