/** The counted work against numbers by hand, and against what the engine's own launches say. */

import assert from "node:assert/strict";
import { promptedSequence } from "../../../src/engine/training/sequence.ts";
import { Gpu } from "../../../src/gpu/gpu.ts";
import type { LaunchCost } from "../../../src/gpu/recording/submit_pacing.ts";
import type { ModelConfig } from "../../../src/model/decoder/config.ts";
import { loadGpuDescription } from "../../../src/run/plan/gpu_description.ts";
import {
  allParameters,
  type CountedModel,
  decodeWork,
  forwardWork,
  gradientWork,
  optimizerWork,
} from "../../../src/run/plan/model_work.ts";
import { passSizeOf } from "../../../src/run/plan/update_cost.ts";
import { tinyConfig, tinyModel, tinyTrainer } from "../../model/tiny_model.ts";

/** C 8, I 12, H 2, KV 1, D 4, L 2, V 20: O = 16, 480 parameters in a layer's products. */
const config: ModelConfig = {
  ...tinyConfig,
  vocabularySize: 20,
  hiddenSize: 8,
  intermediateSize: 12,
  layers: 2,
  heads: 2,
  kvHeads: 1,
  headDim: 4,
  tiedEmbeddings: true,
  qkNorm: false,
};
const whole: CountedModel = { config, weightBytes: 4, adapterRank: null, isTrained: true };

Deno.test("work: a tiny model by hand", () => {
  // 20·8 + 2·(8·16 + 8·8 + 3·8·12 + 2·8) + 8
  assert.equal(allParameters(whole), 160 + 2 * (128 + 64 + 288 + 16) + 8);
  const size = { tokens: 3, pairs: 6, predictions: 2 };
  assert.deepEqual(forwardWork(whole, size), {
    products: {
      // 2·3·480 a layer, 2·2·8·20 for the head
      flops: 2 * 2880 + 640,
      // a layer: 4·480 of weights, 4·3·(8+16 + 8+8 + 8+12 + 12+8) of rows; head: 4·160 and 4·2·28
      bytes: 2 * (1920 + 4 * 3 * 80) + 640 + 224,
    },
    attention: { flops: 2 * 4 * 6 * 2 * 4, bytes: 2 * 16 * 3 * 8 },
    // a layer: 4·3·(4·8 + 2·16); the ends: 16·3·8; the head: 4·2·20
    otherBytes: 2 * 768 + 384 + 160,
    launches: 2 * 8 + 2 + 3,
  });
  const gradient = gradientWork(whole, size, { checkpointing: false });
  // Forward once, back twice; so few logits are kept.
  assert.equal(gradient.products.flops, 3 * (2 * 2880 + 640));
  // A million rows of 20 logits are not.
  const many = gradientWork(whole, { ...size, predictions: 2 ** 20 }, { checkpointing: false });
  assert.equal(many.products.flops, 3 * 2 * 2880 + 4 * 320 * 2 ** 20);
  assert.equal(gradient.attention.flops, 2 * (4 + 14) * 6 * 2 * 4);
  const again = gradientWork(whole, size, { checkpointing: true });
  // Without the last product of a layer, 12·8.
  assert.equal(again.products.flops - gradient.products.flops, 2 * (2880 - 2 * 3 * 96));
  // 16 slots, 160 keys: 8·4 bytes of each key in each layer
  assert.equal(decodeWork(whole, 16, 160).attention.bytes, 2 * (16 * 16 * 8) + 2 * 8 * 4 * 160);
  // 1000 parameters, a quarter of them here, three shards: 250·32 and 4·3·1000 and 20·2·1000
  assert.equal(optimizerWork(1000, 0.25, 3).otherBytes, 8000 + 12000 + 40000);
});

/** What launches say that they do. */
function counted(gpu: Gpu) {
  const launches: { label: string; cost: LaunchCost }[] = [];
  const dispatch = gpu.dispatch.bind(gpu);
  gpu.dispatch = (source, parameters, tensors, grid, cost) => {
    launches.push({ label: source.label, cost: cost ?? { bytes: 0 } });
    dispatch(source, parameters, tensors, grid, cost);
  };
  const isOfAttention = (label: string) => /^attention( backward \w+| paged)?$/.test(label);
  const flops = (ofAttention: boolean) =>
    launches.filter(({ label }) => isOfAttention(label) === ofAttention)
      .reduce((sum, { cost }) => sum + (cost.flops ?? 0), 0);
  return { launches, flops };
}

Deno.test("work: an update's operations are those of the launches that make it", async () => {
  const { info, limits } = loadGpuDescription("rtx4090");
  for (const tiedEmbeddings of [true, false]) {
    for (const gradientCheckpointing of [false, true]) {
      const gpu = Gpu.rehearsalOf(info, limits);
      const model = tinyModel(gpu, { config: { tiedEmbeddings } });
      const trainer = tinyTrainer(model, { gradientCheckpointing });
      const made = counted(gpu);
      // Two prompts of 5 and 9 tokens, with responses of 3, 4 and 2, 6 tokens.
      const groups = [{ promptTokens: 5, lengths: [3, 4] }, { promptTokens: 9, lengths: [2, 6] }];
      const sequences = groups.flatMap(({ promptTokens, lengths }, g) =>
        lengths.map((length) => ({
          ...promptedSequence(new Uint32Array(promptTokens).fill(g + 1), new Uint32Array(length)),
          weights: new Float32Array(length).fill(1),
        }))
      );
      await trainer.forwardBackward(sequences, { name: "cross_entropy" });
      const expected = gradientWork(
        { config: model.config, weightBytes: 4, adapterRank: null, isTrained: true },
        passSizeOf(groups, true),
        { checkpointing: gradientCheckpointing },
      );
      assert.equal(made.flops(false), expected.products.flops);
      assert.equal(made.flops(true), expected.attention.flops);
      // Launches that cost little are not counted one by one: rows gathered, plans, what is finished.
      const share = expected.launches / made.launches.length;
      assert.ok(share > 0.8 && share < 1.1, `${expected.launches} of ${made.launches.length}`);
      trainer.release();
      model.release();
    }
  }
});
