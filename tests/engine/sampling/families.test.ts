/** Every family: what is sampled in pages, in any batch, from a kept beginning or after being put back has training's bits. */

import assert from "node:assert/strict";
import { pagesFor } from "../../../src/engine/sampling/kv_cache.ts";
import { forwardSequences } from "../../../src/engine/training/forward.ts";
import type { Model } from "../../../src/model/decoder/model.ts";
import { RandomStream } from "../../../src/random/philox.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import {
  expertAdapterConfig,
  expertAdapterNames,
  expertAdapters,
} from "../../model/expert_adapters.ts";
import { familyModel, setFamilyAdapter } from "../../model/families.ts";
import { alone, ask, content, finish, plain, withSampler } from "./wanted.ts";

/** Of each family one with all that it has: biases, scales, layers without rotation, a part of a head rotated; convolutions; experts; DeltaNets. */
const names = [
  "llama-5",
  "mistral-3",
  "qwen2-1",
  "qwen3-3",
  "smollm3-1",
  "granite-2",
  "phi3-2",
  "gemma3-5",
  "gemma2-1",
  "gemma2-5",
  "lfm2-2",
  "lfm2-5",
  "qwen3moe-2",
  "qwen3moe-5",
  "olmoe-5",
  "lfm2moe-2",
  "qwen3_5-0",
  "qwen3_5-2",
  "qwen3_5-3",
  "qwen3_5-5",
  "qwen35moe-2",
  "qwen35moe-5",
];

async function assertTrainingsBits(model: Model): Promise<void> {
  const { vocabularySize, maxPositions } = model.config;
  const tokens = (length: number, seed: number) => {
    const random = new RandomStream(seed, 97);
    return Uint32Array.from({ length }, () => random.integer(vocabularySize));
  };
  const beginning = tokens(20, 1);
  const wanted = Array.from({ length: 9 }, (_, i) => {
    const prompt = Uint32Array.of(...i % 3 < 2 ? beginning : [], ...tokens(1 + i, 2 + i));
    const maximumResponse = Math.min(30, maxPositions - prompt.length);
    return { ...plain, prompt, sequenceId: i, maximumResponse };
  });
  const expected = await alone(model, wanted);
  const needed = wanted.map(({ prompt, maximumResponse }) =>
    pagesFor(prompt.length + maximumResponse)
  );
  const pages = Math.floor(needed.reduce((sum, count) => sum + count, 0) / 3);
  await withSampler(model, { slots: 9, stepsBetweenReadbacks: 6, pages }, async (sampler) => {
    const asked = wanted.map((one) => ask(sampler, one).response);
    await finish(sampler);
    const found = await Promise.all(asked);
    assert.deepEqual(found.map(content), expected.map(content));
    assert.ok(found.some(({ timesPutBack }) => timesPutBack > 0));
    assert.ok(found.some(({ cachedTokens }) => cachedTokens > 0));
  });
  const sequences = wanted.map(({ prompt }, i) => ({
    tokens: Uint32Array.of(...prompt, ...expected[i].tokens.subarray(0, -1)),
    targets: expected[i].tokens,
    first: prompt.length - 1,
  }));
  const options = { microBatchTokens: 128, sharePrompts: true };
  const again = await forwardSequences(model, sequences, options);
  assert.deepEqual(again.map(({ logProbs }) => logProbs), expected.map((one) => one.logProbs));
}

for (const name of names) {
  onEveryGpu(`sampler: ${name} samples with training's bits`, async (gpu) => {
    const model = familyModel(gpu, name, { trained: false });
    try {
      await assertTrainingsBits(model);
    } finally {
      model.release();
    }
  });
}

for (const name of expertAdapterNames) {
  onEveryGpu(`sampler: ${name} with an adapter on experts samples so`, async (gpu) => {
    const base = familyModel(gpu, expertAdapters[name], { trained: false });
    const config = expertAdapterConfig(name, base.config);
    const model = base.adapted({ config, basePath: "", trained: false });
    try {
      setFamilyAdapter(model);
      await assertTrainingsBits(model);
    } finally {
      model.release();
      base.release();
    }
  });
}
