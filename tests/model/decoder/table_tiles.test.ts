/** A vocabulary too large for one binding lies in tiles; nothing else changes. */

import assert from "node:assert/strict";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import { RandomStream } from "../../../src/random/philox.ts";
import type { Model } from "../../../src/model/decoder/model.ts";
import { generate } from "../../engine/sampling/generate.ts";
import { updateSupervised } from "../../../src/rl/update/supervised_update.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { readGradients } from "../fixture.ts";
import { adamwNumbers, tinyConfig, tinyModel, tinyTrainer } from "../tiny_model.ts";

/** Tiles of 1,024, 1,024 and 453 rows. */
const vocabularySize = 2501;
const segmentBytes = 4 * 1500 * tinyConfig.hiddenSize;

/** What a model says, is taught, and weighs. */
async function outcome(model: Model) {
  const random = new RandomStream(5, 97);
  const sequence = (length: number) =>
    Uint32Array.from({ length }, () => random.integer(vocabularySize));
  const samples = Array.from({ length: 6 }, () => {
    const [prompt, response] = [sequence(3), sequence(9)];
    return { prompt, response, weights: new Float32Array(9).fill(1) };
  });
  const responses = await generate(
    model,
    samples.map(({ prompt }, i) => ({ prompt, sequenceIds: [i] })),
    {
      temperature: 1,
      topK: 0,
      topP: 1,
      minP: 0,
      seed: 1,
      stream: 2,
      step: 3,
      stopTokens: [],
      maximumResponse: 8,
      slots: 4,
      stepsBetweenReadbacks: 4,
    },
  );
  const trainer = tinyTrainer(model);
  const weights = await model.parameters.read();
  const { loss } = await updateSupervised(trainer, samples, adamwNumbers(0));
  const gradients = await readGradients(model);
  trainer.release();
  return { responses, weights, loss, gradients };
}

async function both(gpu: Gpu, tiedEmbeddings: boolean) {
  const config = { vocabularySize, tiedEmbeddings };
  const models = [tinyModel(gpu, { config }), tinyModel(gpu, { config, segmentBytes })];
  const tiles = models.map(({ head, embedding }) => [embedding.length, head.length]);
  const outcomes = [await outcome(models[0]), await outcome(models[1])];
  for (const model of models) model.release();
  return { tiles, outcomes };
}

onEveryGpu(
  "tiles of a large vocabulary change no bit of what a model says and learns",
  async (gpu) => {
    for (const tied of [true, false]) {
      const { tiles, outcomes: [whole, tiled] } = await both(gpu, tied);
      assert.deepEqual(tiles, [[1, 1], [3, 3]]);
      assert.deepEqual(tiled, whole, tied ? "tied" : "untied");
      const rows = Object.values(whole.gradients).length;
      assert.ok(rows > 0 && whole.loss > 0);
    }
  },
);

Deno.test("tiles: a device that binds too little is told the reason", async () => {
  const { parameterBlocks } = await import("../../../src/model/decoder/layout.ts");
  assert.throws(() => parameterBlocks({ ...tinyConfig, vocabularySize }, () => 1000), {
    name: "UserError",
    message: /embed_tokens.weight: rows of 32 elements are too wide .* binds 1000/,
  });
});
