/** Work of passes that were not rehearsed, against numbers by hand and against what their own launches say. */

import assert from "node:assert/strict";
import { promptedSequence } from "../../../src/engine/training/sequence.ts";
import { Trainer } from "../../../src/engine/training/trainer.ts";
import { Gpu } from "../../../src/gpu/gpu.ts";
import type { ModelConfig } from "../../../src/model/decoder/config.ts";
import { loraTargets } from "../../../src/model/decoder/lora.ts";
import { Model } from "../../../src/model/decoder/model.ts";
import { loadGpuDescription } from "../../../src/run/plan/gpu_description.ts";
import {
  type PolicyWork,
  rehearseWork,
  type UpdateWork,
} from "../../../src/run/plan/rehearsed_work.ts";
import { passSizeOf } from "../../../src/run/plan/update_cost.ts";
import { launched, type Work } from "../../../src/run/plan/work.ts";
import { tinyConfig, tinyTrainer } from "../../model/tiny_model.ts";

/** C 8, I 12, H 2, KV 1, D 8, L 2, V 40: O = 32, 672 parameters in a layer's products. */
const config: ModelConfig = {
  ...tinyConfig,
  vocabularySize: 40,
  hiddenSize: 8,
  intermediateSize: 12,
  layers: 2,
  heads: 2,
  kvHeads: 1,
  headDim: 8,
  tiedEmbeddings: true,
  qkNorm: false,
};

const { info, limits } = loadGpuDescription("rtx4090");

/** A model on a GPU of its own, its trainer, and its work; everything ends with the test. */
async function rehearsed(
  changes: Partial<ModelConfig> = {},
  { checkpointing = false, rank = 0, cacheDtype = "f32" as "f32" | "f16" } = {},
): Promise<{ trainer: Trainer; work: PolicyWork; update: UpdateWork }> {
  const gpu = Gpu.rehearsalOf(info, limits, { cacheDtype });
  const base = Model.create(gpu, { ...config, ...changes }, { trained: rank === 0 });
  const lora = { rank, alpha: rank, targets: loraTargets };
  const model = rank === 0 ? base : base.adapted({ config: lora, basePath: "", trained: true });
  const trainer = tinyTrainer(model, { gradientCheckpointing: checkpointing });
  const work = await rehearseWork({ model, trainer, reference: base, hostReference: null });
  assert.ok(work.update);
  return { trainer, work, update: work.update };
}

const size = { tokens: 3, pairs: 6, predictions: 2 };
const near = (found: number, expected: number) =>
  assert.ok(Math.abs(found - expected) <= 1e-9 * expected, `${found}, expected ${expected}`);

Deno.test("work: a tiny model by hand", async () => {
  const { work, update } = await rehearsed();
  // 40·8 + 2·(8·32 + 16·8 + 3·8·12 + 2·8) + 8
  assert.equal(update.parameters, 320 + 2 * (256 + 128 + 288 + 16) + 8);
  const forward = update.reference?.(size);
  assert.ok(forward);
  // 2·3·672 a layer, 2·2·8·40 for the head
  near(forward.products.flops, 2 * 4032 + 1280);
  // a layer: 4·672 of weights, 4·3·(8+32 + 16+8 + 8+24 + 12+8) of rows; head: 4·320 and 4·2·(8+40)
  near(forward.products.bytes, 2 * (2688 + 4 * 3 * 116) + 1280 + 384);
  near(forward.attention.flops, 2 * 4 * 6 * 2 * 8);
  // Products 4 a layer and the head; attention 1; norms 2 and rotation a layer, embedding, last norm, rows gathered,
  // log-probs 2.
  assert.deepEqual(
    [forward.products, forward.attention, forward.other].map(({ launches }) =>
      Math.round(launches)
    ),
    [2 * 4 + 1, 2, 2 * 3 + 5],
  );
  const gradient = update.gradient(size);
  // Forward once, back twice.
  near(gradient.products.flops, 3 * (2 * 4032 + 1280));
  near(gradient.attention.flops, 2 * (4 + 14) * 6 * 2 * 8);
  // Of 2,048 numbers, as they lie in memory, the norm reads the gradients, AdamW reads 16 bytes and writes 12.
  const sums = update.step.other.bytes - 32 * 2048;
  assert.ok(sums > 0 && sums < 100, `${sums}`);
  // 5 tokens, of which the last layer makes keys and values alone.
  near(work.prefill(5, 15).products.flops, 2 * 5 * (672 + 256));
  near(work.prefill(5, 15).attention.flops, 4 * 15 * 2 * 8);
});

Deno.test("work: a decode step reads weights once and every key, in the type they are cached in", async () => {
  for (const [cacheDtype, bytes] of [["f32", 4], ["f16", 2]] as const) {
    const { work } = await rehearsed({}, { cacheDtype });
    const step = work.decode(48, 1000);
    near(step.products.flops, 48 * 2 * (2 * 672 + 320));
    near(step.products.bytes, 2 * 2688 + 1280 + 4 * 48 * (2 * 116 + 48));
    // a layer: 48 queries and outputs of 16 floats; 1000 keys and values of 8 numbers
    near(step.attention.bytes, 2 * (48 * 2 * 64 + 1000 * 2 * 8 * bytes));
  }
});

Deno.test("work: checkpointing makes a layer's products again but for the last", async () => {
  const [once, again] = [await rehearsed(), await rehearsed({}, { checkpointing: true })];
  const more = again.update.gradient(size).products.flops -
    once.update.gradient(size).products.flops;
  // Without the last product of a layer, 12·8.
  near(more, 2 * (4032 - 2 * 3 * 96));
});

Deno.test("work: logits that are too many to be kept are computed again", async () => {
  // Of 2^18 columns, 64 MiB of logits are 64 rows.
  const V = 2 ** 18;
  const { update } = await rehearsed({ vocabularySize: V, maxPositions: 64 });
  const ofHead = (predictions: number) =>
    update.gradient({ ...size, predictions }).products.flops - 3 * 2 * 4032;
  near(ofHead(64), 3 * 2 * 64 * 8 * V);
  near(ofHead(65), 4 * 2 * 65 * 8 * V);
});

Deno.test("work: an adapter's own products, forward and back", async () => {
  const { update } = await rehearsed({}, { rank: 4 });
  // r·((C + H·D) + 2·(C + KV·D) + (H·D + C) + 3·(C + I)) in each of 2 layers
  const adapter = 4 * (24 + 2 * 16 + 24 + 3 * 20);
  assert.equal(update.parameters, 2 * adapter);
  const { products } = update.gradient(size);
  // The base forward and its inputs' gradients; of the adapter forward, its inner values again, and the gradients of
  // inputs and weights, 2·T each, of which the inner values are less than half.
  const base = 2 * (2 * 4032 + 1280);
  const own = products.flops - base;
  assert.ok(own > 2 * 3 * 2 * 3 * adapter && own < 2 * 4 * 2 * 3 * adapter, `${own}`);
});

Deno.test("work: an update's work is that of the launches that make it", async () => {
  for (const tiedEmbeddings of [true, false]) {
    for (const checkpointing of [false, true]) {
      const { trainer, update } = await rehearsed({ tiedEmbeddings }, { checkpointing });
      // Two prompts of 5 and 90 tokens, with responses of 3, 4 and 20, 60 tokens.
      const groups = [{ promptTokens: 5, lengths: [3, 4] }, {
        promptTokens: 90,
        lengths: [20, 60],
      }];
      const sequences = groups.flatMap(({ promptTokens, lengths }, g) =>
        lengths.map((length) => ({
          ...promptedSequence(new Uint32Array(promptTokens).fill(g + 1), new Uint32Array(length)),
          weights: new Float32Array(length).fill(1),
        }))
      );
      const made = await launched(
        trainer.model.gpu,
        () => trainer.forwardBackward(sequences, { name: "cross_entropy" }),
      );
      const expected = update.gradient(passSizeOf(groups, true));
      for (const kind of ["products", "attention"] as const) {
        near(expected[kind].flops, made[kind].flops);
        near(expected[kind].bytes, made[kind].bytes);
      }
      const launches = (work: Work) =>
        work.products.launches + work.attention.launches + work.other.launches;
      near(launches(expected), launches(made));
      // Tables of segments and of tokens are not in proportion.
      const share = expected.other.bytes / made.other.bytes;
      assert.ok(share > 0.98 && share < 1.02, `${share}`);
    }
  }
});
