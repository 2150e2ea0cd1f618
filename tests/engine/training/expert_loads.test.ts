/** How tokens were spread over experts in an update. About two seconds. */

import assert from "node:assert/strict";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import { plainExperts } from "../../../src/model/decoder/config.ts";
import { adamwNumbers, tinyConfig } from "../../model/tiny_model.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import {
  batches,
  clippedLoss,
  expertsKind,
  type Kind,
  tiedKind,
  type Training,
  withTraining,
} from "./small_training.ts";

/** The loads of an update, of an update without a gradient, and of another. */
function loadsOf(gpu: Gpu, kind: Kind, training: Training) {
  return withTraining(gpu, kind, training, async (trainer) => {
    const step = async () => (await trainer.optimStep(adamwNumbers(0))).expertLoad;
    await trainer.forwardBackward(batches[0], clippedLoss);
    const first = await step();
    const none = await step();
    await trainer.forwardBackward(batches[0], clippedLoss);
    return { first, none, again: await step() };
  });
}

onEveryGpu("expert loads: each token counts once, however a batch is cut", async (gpu) => {
  const whole = await loadsOf(gpu, expertsKind, { microBatchTokens: 4096, shards: 1 });
  assert.ok(whole.first);
  assert.ok(whole.first.largest > 1 && whole.first.largest <= 7 / 3, `${whole.first.largest}`);
  assert.equal(whole.none, null);
  assert.deepEqual(whole.again, whole.first);
  for (const microBatchTokens of [1, 60]) {
    for (const gradientCheckpointing of [false, true]) {
      const cut = { microBatchTokens, shards: 3, gradientCheckpointing };
      assert.deepEqual(await loadsOf(gpu, expertsKind, cut), whole);
    }
  }
});

onEveryGpu(
  "expert loads: even where tokens take all experts, none without experts",
  async (gpu) => {
    const training = { microBatchTokens: 4096, shards: 1 };
    const [dense] = tinyConfig.kinds;
    const experts = { ...plainExperts, count: 5, chosen: 5, innerSize: 8, normalised: false };
    const all = await loadsOf(gpu, { config: { kinds: [{ ...dense, experts }] } }, training);
    assert.deepEqual(all.first, { largest: 1, unused: 0 });
    // One that all tokens take is not counted: it would have three times its even share.
    const shared = { ...experts, chosen: 1, normalised: true, shared: true };
    const { first } = await loadsOf(gpu, {
      config: { architecture: "qwen3_5_moe_text", kinds: [{ ...dense, experts: shared }] },
    }, training);
    assert.ok(first && first.largest < 3, `${first?.largest}`);
    assert.equal((await loadsOf(gpu, tiedKind, training)).first, null);
  },
);
