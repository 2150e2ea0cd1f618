/** What a model's process has on a GPU: sampling beside training, and the memory of adapters that come and go. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { Sampler } from "../../../src/engine/sampling/sampler.ts";
import { Gpu } from "../../../src/gpu/gpu.ts";
import type { LoraConfig } from "../../../src/model/decoder/lora.ts";
import { adapterMark } from "../../../src/model/weights/adapter_folder.ts";
import { loadModelFolder } from "../../../src/model/weights/model_folder.ts";
import type { FromModel, Operation, ToModel } from "../../../src/server/serving/messages.ts";
import { PolicyTurns } from "../../../src/server/serving/policies.ts";
import { PolicyLoader } from "../../../src/server/serving/policy_loader.ts";
import { ServingLoop } from "../../../src/server/serving/serving_loop.ts";
import { ServingMemory } from "../../../src/server/serving/serving_memory.ts";
import { TrainedAdapters } from "../../../src/server/serving/trained_adapters.ts";
import { TINY } from "../openai/with_models.ts";
import { withFolder } from "../written_run.ts";
import { requestFor } from "./stubs.ts";

const BASE_BYTES = 1e8;
const trainer = {
  microBatchTokens: 8,
  sharePrompts: true,
  gradientCheckpointing: false,
  shards: 1,
};
const config: LoraConfig = { rank: 8, alpha: 16, targets: ["q_proj", "v_proj"] };

const gpu = await Gpu.open();
const loaded = await loadModelFolder(gpu, TINY, { trained: false });
const rehearsed = await loadModelFolder(gpu.rehearsal(), TINY, { trained: false });

/** What a process has, and what it tells in answer. */
function serving(limit = Infinity) {
  const memory: ServingMemory = new ServingMemory(
    ...[gpu, rehearsed.model, BASE_BYTES, { bytes: limit, origin: "a test" }] as const,
    () => policies.makeRoom(),
  );
  const makeSampler = (model: typeof loaded.model) =>
    new Sampler(model, { slots: 4, stepsBetweenReadbacks: 8, pages: 16 });
  const loader = new PolicyLoader(loaded.model, TINY, makeSampler, memory);
  const policies = new PolicyTurns((folder) => loader.load(folder), adapterMark);
  const adapters = new TrainedAdapters(loaded, TINY, trainer, memory);
  const told: FromModel[] = [];
  const pipes = {
    tell: (message: FromModel) => void told.push(message),
    catchUp: () => new Promise<void>((resolve) => setTimeout(resolve)),
  };
  const state = () => assert.fail("nobody looks");
  const loop = new ServingLoop({ policies, adapters, state }, pipes, (error) => {
    throw error;
  });
  let id = 0;
  const ended = (asked: number) =>
    told.findIndex((one) => one.type !== "ready" && one.type !== "tokens" && one.id === asked);
  return {
    policies,
    told,
    ended,
    async ask(...messages: readonly (Operation | { readonly sample: string | null })[]) {
      const ids = messages.map((one) => {
        const message: ToModel = "kind" in one ? { type: "call", id: ++id, operation: one } : {
          ...{ type: "sample", id: ++id, request: requestFor(30), adapter: one.sample },
          streams: false,
        };
        loop.take(message);
        return id;
      });
      while (ids.some((one) => ended(one) < 0)) await pipes.catchUp();
      return ids.map((one) => told[ended(one)]);
    },
    forget: (folder: string) => loop.take({ type: "forget", folder }),
  };
}

/** As many passes as sequences. */
const sequences = Array.from({ length: 12 }, (_, i) => ({
  tokens: Uint32Array.from({ length: 8 }, (_, at) => 1 + (7 * i + at) % 60),
  targets: Uint32Array.from({ length: 8 }, (_, at) => 1 + (7 * i + at + 1) % 60),
  first: 0,
  weights: new Float32Array(8).fill(1),
}));
const create: Operation = { kind: "create", adapter: "one", config, seed: 3 };
const drop: Operation = { kind: "drop", adapter: "one" };
const backward: Operation = {
  ...{ kind: "forwardBackward", adapter: "one", loss: { name: "cross_entropy" } },
  sequences,
};
const forward: Operation = { kind: "forward", adapter: "one", sequences };
const step: Operation = {
  ...{ kind: "optimStep", adapter: "one" },
  numbers: {
    ...{ learningRate: 1e-2, betas: [0.9, 0.95], epsilon: 1e-8, weightDecay: 0 },
    maxGradientNorm: 1,
  },
};
const contentOf = (message: FromModel) => {
  if (message.type === "answer") return message.answer;
  return message.type === "end" ? message.response : assert.fail(JSON.stringify(message));
};

Deno.test("sampling goes on between the passes of a training call, and neither shows in the bits of the other", async () => {
  const { ask, ended } = serving();
  const alone = [];
  for (const one of [create, backward, step, forward, { sample: null }]) {
    alone.push(contentOf((await ask(one))[0]));
  }
  await ask(drop);
  const together = await ask(create, backward, step, forward, { sample: null });
  assert.deepEqual(together.map(contentOf), alone);
  const [, first, , , sampled] = together.map((one) => one.type === "ready" ? 0 : one.id);
  assert.ok(ended(sampled) < ended(first), "the response did not wait for the call");
  await ask(drop);
});

Deno.test("memory: adapters that are refused, fail, are dropped or forgotten leave nothing behind", () =>
  withFolder(async (root) => {
    const { pool } = gpu;
    const folder = join(root, "one");
    const broken = join(root, "broken");
    const whole = serving();
    await whole.ask({ sample: null }, create, {
      kind: "save",
      adapter: "one",
      folder,
      optimizer: true,
    });
    await whole.ask(drop);
    Deno.mkdirSync(broken);
    for (const { name } of Deno.readDirSync(folder)) {
      Deno.copyFileSync(join(folder, name), join(broken, name));
    }
    const weights = join(broken, "adapter_model.safetensors");
    Deno.truncateSync(weights, Deno.statSync(weights).size - 8);
    Deno.mkdirSync(join(root, "adapter_config.json"));
    const start = pool.liveBytes;
    const none = serving(BASE_BYTES + 1000);
    for (const one of [create, { sample: folder }, { ...create, adapter: "two" }]) {
      const [refused] = await none.ask(one);
      assert.match(
        refused.type === "refused" ? refused.message : "",
        /^An adapter of rank 8 takes .* may be taken \(a test\)\./,
      );
      assert.equal(pool.liveBytes, start);
    }
    for (
      const one of [
        { sample: broken },
        { sample: join(root, "none") },
        // No folder, and one whose file is none.
        { sample: weights },
        { sample: root },
        { kind: "load", adapter: "one", folder: broken, optimizer: true },
        backward,
      ] as const
    ) {
      const [refused] = await whole.ask(one);
      assert.equal(refused.type, "refused", JSON.stringify(one));
      assert.equal(pool.liveBytes, start);
    }
    await whole.ask({ sample: folder });
    assert.equal(whole.policies.adapters, 1);
    whole.forget(folder);
    while (whole.policies.busy) await new Promise((resolve) => setTimeout(resolve));
    assert.equal(whole.policies.adapters, 0);
    await whole.ask({ sample: null });
    assert.equal(pool.liveBytes, start);
  }));

Deno.test("the device is returned", () => {
  loaded.model.release();
  gpu.close();
});
