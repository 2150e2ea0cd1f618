/** Several ranks train one model: every rank has the numbers of one process, to the last bit. */

import assert from "node:assert/strict";
import { UserError } from "../../src/base/user_error.ts";
import { alone as nobody, type Communicator } from "../../src/distributed/communicator.ts";
import { gradientReducer } from "../../src/distributed/gradient_reducer.ts";
import { Gpu } from "../../src/gpu/gpu.ts";
import type { SampledSequence } from "../../src/engine/training/losses.ts";
import type { Reducer } from "../../src/engine/training/reducer.ts";
import {
  batches,
  clippedLoss,
  type Kind,
  kinds,
  steps,
  tiedKind,
  trained,
  withTraining,
} from "../engine/training/small_training.ts";
import { flat } from "../engine/training/shard_tree.ts";
import { onEveryGpu } from "../kernels/harness.ts";
import { adamwNumbers } from "../model/tiny_model.ts";
import { onRanks } from "./in_process.ts";

/** Runs a task as every one of some ranks, all of them on one GPU. */
function onReducers<Result>(
  size: number,
  task: (reducer: Reducer) => Promise<Result>,
): Promise<Result[]> {
  return onRanks(size, (communicator) => task(gradientReducer(communicator)));
}

async function compare(gpu: Gpu, kind: Kind, shards: number, sizes: readonly number[]) {
  const whole = await trained(gpu, kind, { microBatchTokens: 60, shards });
  assert.ok(whole.weights.some((weight) => weight !== 0));
  for (const size of sizes) {
    // Passes cut otherwise on each rank do not show either.
    const all = await onReducers(
      size,
      (reducer) =>
        trained(gpu, kind, { microBatchTokens: 30 + 10 * reducer.rank, shards, reducer }),
    );
    for (const found of all) assert.deepEqual(found, whole, `${size} ranks, ${shards} shards`);
  }
}

onEveryGpu(
  "2, 3 and 4 ranks with 4 shards: the bytes of one process after 8 steps",
  async (gpu) => {
    await compare(gpu, tiedKind, 4, [1, 2, 3, 4]);
  },
);

onEveryGpu(
  "2, 3 and 5 ranks with 5 shards: the bytes of one process after 8 steps",
  async (gpu) => {
    await compare(gpu, kinds["a table for each, and norms of queries and keys"], 5, [2, 3, 5]);
  },
);

onEveryGpu("2 and 4 ranks train an adapter: the bytes of one process", async (gpu) => {
  await compare(gpu, kinds["an adapter"], 4, [2, 4]);
});

onEveryGpu("ranks whose shards are empty have a gradient of zero", async (gpu) => {
  // One prompt alone makes one part.
  const few = batches[0].slice(0, 2);
  const run = (reducer?: Reducer) =>
    withTraining(gpu, tiedKind, { microBatchTokens: 60, shards: 4, reducer }, async (trainer) => {
      const { loss, outputs } = await trainer.forwardBackward(few, clippedLoss);
      const update = await trainer.optimStep(adamwNumbers(1e-3));
      const weights = await gpu.readAll(trainer.model.trainable?.weights ?? []);
      return { loss, outputs, update, weights };
    });
  const whole = await run();
  assert.ok(whole.update.gradientNorm > 0);
  assert.deepEqual(await onReducers(4, run), [whole, whole, whole, whole]);
});

onEveryGpu(
  "responses that no rank computes: the bytes of one process that computes all",
  async (gpu) => {
    const loss = { ...clippedLoss, entropyCoefficient: 0 };
    // Of all prompts but one nothing is left, so that some ranks have nothing to do.
    const idle = batches[0].map((sequence, s) =>
      s >= 2 && s <= 4 ? sequence : {
        ...sequence,
        advantages: sequence.advantages.map(() => 0),
      }
    );
    const run = (leavesOutIdle: boolean, reducer?: Reducer) =>
      withTraining(gpu, tiedKind, { microBatchTokens: 60, shards: 4, reducer }, async (trainer) => {
        const { outputs, ...found } = await trainer.forwardBackward(idle, loss, 1, {
          leavesOutIdle,
        });
        const update = await trainer.optimStep(adamwNumbers(1e-3));
        const weights = await gpu.readAll(trainer.model.trainable?.weights ?? []);
        return { ...found, outputs: outputs.slice(2, 5), update, weights };
      });
    const whole = await run(false);
    assert.ok(whole.update.gradientNorm > 0);
    const all = await onReducers(3, (reducer) => run(true, reducer));
    assert.deepEqual(all, [whole, whole, whole]);
  },
);

onEveryGpu("a gradient that is not finite on one rank is skipped on all", async (gpu) => {
  const spoilt = batches[0].map((sequence, s): SampledSequence =>
    s === 4 ? { ...sequence, advantages: sequence.advantages.map(() => NaN) } : sequence
  );
  const run = (reducer?: Reducer) =>
    withTraining(gpu, tiedKind, { microBatchTokens: 60, shards: 4, reducer }, async (trainer) => {
      const before = await gpu.readAll(trainer.model.trainable?.weights ?? []);
      await trainer.forwardBackward(spoilt, clippedLoss);
      const { nonFinite } = await trainer.optimStep(adamwNumbers(1e-3));
      assert.ok(nonFinite > 0);
      assert.deepEqual(await gpu.readAll(trainer.model.trainable?.weights ?? []), before);
      assert.equal(trainer.optimizer.step, 0);
      return { nonFinite, after: await steps(trainer, 2) };
    });
  const whole = await run();
  assert.deepEqual(await onReducers(3, run), [whole, whole, whole]);
});

onEveryGpu("two models in turns over one communicator", async (gpu) => {
  const training = { microBatchTokens: 60, shards: 4 };
  const run = (reducer?: Reducer) =>
    withTraining(
      gpu,
      tiedKind,
      { ...training, reducer },
      (first) =>
        withTraining(gpu, {}, { ...training, reducer }, async (second) => [
          await steps(first, 1),
          await steps(second, 2),
          await steps(first, 1),
        ]),
    );
  const whole = await run();
  assert.deepEqual(await onReducers(2, run), [whole, whole]);
});

onEveryGpu("log-probs without a gradient are those of one process on every rank", async (gpu) => {
  const training = { microBatchTokens: 40, shards: 4 };
  const [batch] = batches;
  const nothing = { ...batch[0], targets: new Uint32Array() };
  const run = (reducer?: Reducer) =>
    withTraining(
      gpu,
      {},
      { ...training, reducer },
      (trainer) => trainer.forward([...batch, nothing], 0.7),
    );
  const whole = await run();
  for (const size of [2, 3]) {
    for (const found of await onReducers(size, run)) assert.deepEqual(found, whole);
  }
});

onEveryGpu("what fails on one rank fails on all, and nothing is left behind", async (gpu) => {
  // The first pass that any of them reads.
  const { readAll } = gpu;
  gpu.readAll = () => {
    gpu.readAll = readAll;
    return Promise.reject(new Error("the GPU had a bad day"));
  };
  const errors = await onReducers(
    3,
    (reducer) =>
      withTraining(gpu, {}, { microBatchTokens: 60, shards: 4, reducer }, async (trainer) => {
        const failing = trainer.forwardBackward(batches[0], clippedLoss);
        return await failing.then(() => null, ({ name, message }: Error) => `${name}: ${message}`);
      }),
  );
  const own = errors.filter((error) => error?.startsWith("Error: "));
  assert.equal(own.length, 1, `${errors}`);
  assert.match(own[0] ?? "", /a bad day/);
  const failed = errors.indexOf(own[0]);
  for (const [rank, error] of errors.entries()) {
    if (rank === failed) continue;
    assert.equal(error, `Failure: Rank ${failed} failed: ${own[0]?.slice("Error: ".length)}`);
  }
});

/** Enough slices and layers that the backward pass is seen to go on. */
const manyLayers: Kind = { config: { layers: 8, tiedEmbeddings: false } };

/** Runs a task as each of two ranks, with a GPU of the same engine for each. */
async function onTwoGpus<Result>(
  gpu: Gpu,
  task: (communicator: Communicator, gpu: Gpu) => Promise<Result>,
): Promise<Result[]> {
  const other = await Gpu.open(gpu.info.engine);
  try {
    return await onRanks(2, (ranks) => task(ranks, ranks.rank === 0 ? gpu : other));
  } finally {
    other.close();
  }
}

onEveryGpu("gradients leave while the backward pass is still at the rest", async (gpu) => {
  const events = await onTwoGpus(gpu, async (ranks, gpu) => {
    const events: string[] = [];
    const hear = (over: Communicator): Communicator => ({
      ...over,
      send: (bytes, to) => {
        if (bytes.length > 1000) events.push("sent");
        return over.send(bytes, to);
      },
      channel: (channel) => hear(over.channel(channel)),
    });
    const { dispatch } = gpu;
    gpu.dispatch = (source, ...rest) => {
      events.push(source.label);
      dispatch.call(gpu, source, ...rest);
    };
    const training = { microBatchTokens: 8192, shards: 2, reducer: gradientReducer(hear(ranks)) };
    await withTraining(gpu, manyLayers, training, async (trainer) => {
      await trainer.forwardBackward(batches[0], clippedLoss);
    });
    gpu.dispatch = dispatch;
    return events;
  });
  for (const rank of events) {
    const last = rank.findLastIndex((event) => event.startsWith("embedding backward"));
    const before = rank.slice(0, last).filter((event) => event === "sent").length;
    const after = rank.slice(last).filter((event) => event === "sent").length;
    // The pass is at most two of the eight layers ahead of what was read.
    assert.ok(before >= 2 && after >= 1, `${before} ${after} ${rank.join(", ")}`);
  }
});

onEveryGpu(
  "whenever one rank fails both do, in the last pass and its exchange too",
  async (gpu) => {
    let reads = 0, failed = 0;
    do {
      const live = gpu.pool.liveBytes;
      const [own, others] = await onTwoGpus(gpu, async (ranks, gpu) => {
        const reducer = gradientReducer(ranks);
        const training = { microBatchTokens: 60, shards: 4, reducer };
        const { readAll } = gpu;
        return await withTraining(gpu, manyLayers, training, async (trainer) => {
          let count = 0;
          if (ranks.rank === 0) {
            gpu.readAll = (tensors) =>
              count++ === failed
                ? Promise.reject(new Error("the GPU had a bad day"))
                : readAll.call(gpu, tensors);
          }
          try {
            await trainer.forwardBackward(batches[0], clippedLoss);
            return null;
          } catch (error) {
            return `${error}`;
          } finally {
            gpu.readAll = readAll;
            if (ranks.rank === 0) reads = count;
          }
        });
      });
      const isOver = failed === reads;
      assert.equal(own, isOver ? null : "Error: the GPU had a bad day");
      assert.equal(others, isOver ? null : "Failure: Rank 0 failed: the GPU had a bad day");
      assert.equal(gpu.pool.liveBytes, live, `after read ${failed}`);
      const { dispatch } = gpu;
      gpu.dispatch = ({ label }) => assert.fail(`${label} after read ${failed}, which failed`);
      await new Promise((resolve) => setTimeout(resolve, 5));
      gpu.dispatch = dispatch;
    } while (failed++ < reads);
    assert.ok(reads > 4, `${reads}`);
  },
);

onEveryGpu("more ranks than shards are refused", async (gpu) => {
  const training = { microBatchTokens: 60, shards: 2 };
  await onReducers(3, async (reducer) => {
    const refused = withTraining(gpu, {}, { ...training, reducer }, () => Promise.resolve());
    await assert.rejects(refused, {
      name: "UserError",
      message: /^reduction\.shards is 2 and 3 ranks train together: .* Set reduction\.shards to 3 /,
    });
  });
});

Deno.test("a user's mistake that one rank finds is told to all as one", async () => {
  const mistake = new UserError("not so");
  await onReducers(3, async (reducer) => {
    const task = () => reducer.rank === 1 ? Promise.reject(mistake) : Promise.resolve();
    const message = reducer.rank === 1 ? "not so" : "Rank 1 failed: not so";
    await assert.rejects(reducer.together(task), { name: "UserError", message });
  });
});

Deno.test("one rank by itself needs nobody", async () => {
  const reducer = gradientReducer(nobody);
  assert.equal(await reducer.together(() => Promise.resolve(7)), 7);
  await assert.rejects(reducer.together(() => Promise.reject(new Error("alone"))), /^Error: alone/);
  const perRank = [Uint8Array.of(1, 2)];
  await reducer.gather(perRank);
  assert.deepEqual(flat(perRank), Float32Array.of(1, 2));
});
