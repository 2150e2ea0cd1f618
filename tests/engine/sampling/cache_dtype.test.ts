import assert from "node:assert/strict";
import { KvCache } from "../../../src/engine/sampling/kv_cache.ts";
import { Gpu } from "../../../src/gpu/gpu.ts";
import { pageTokens } from "../../../src/kernels/attention/attention_shape.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { tinyConfig, tinyModel, tinyTrainer } from "../../model/tiny_model.ts";
import { ask, finish, plain, tokensOf, withSampler } from "./wanted.ts";

/** Sampled log-probs of prompts and responses on a GPU whose cache has this type, compared with the training pass. */
async function sampledLogProbs(gpu: Gpu): Promise<number[]> {
  const model = tinyModel(gpu);
  const trainer = tinyTrainer(model);
  try {
    const prompt = tokensOf(70, 12);
    // The second finds the first one's prompt in the cache, and copies the beginning of a page.
    const wanted = [0, 1].map((sequenceId) => ({ ...plain, prompt, sequenceId }));
    const responses = await withSampler(
      model,
      { slots: 4, stepsBetweenReadbacks: 8, pages: 20 },
      async (sampler) => {
        const asked = wanted.map((one) => ask(sampler, { ...one, promptLogProbs: true }).response);
        await finish(sampler);
        return await Promise.all(asked);
      },
    );
    const sampled = responses.map(({ prompt: read, logProbs }) => [
      ...read?.logProbs.subarray(1) ?? [],
      ...logProbs,
    ]);
    const outputs = await trainer.forward(
      responses.map(({ tokens }) => {
        const text = Uint32Array.from([...prompt, ...tokens]);
        return { tokens: text, targets: text.subarray(1), first: 0 };
      }),
      1,
    );
    assert.deepEqual(sampled, outputs.map(({ logProbs }) => [...logProbs]));
    return sampled[0];
  } finally {
    trainer.release();
    model.release();
  }
}

onEveryGpu(
  "a cache in f16 or bf16 takes half, and the training pass gives the sampled log-probs",
  async (shared) => {
    const inFloats = await sampledLogProbs(shared);
    for (const cacheDtype of ["f16", "bf16"] as const) {
      const gpu = await Gpu.open(shared.info.engine, { cacheDtype });
      try {
        const logProbs = await sampledLogProbs(gpu);
        const prompt = logProbs.slice(0, 69);
        assert.notDeepEqual(prompt, inFloats.slice(0, 69));
        for (const [i, logProb] of prompt.entries()) {
          // Rounding by 2^-9 at most moves the logits of this model by less than a tenth.
          assert.ok(Math.abs(logProb - inFloats[i]) < 0.1, `${cacheDtype}, token ${i}: ${logProb}`);
        }
        // A rehearsal is what memory is planned by.
        for (const device of [gpu, gpu.rehearsal()]) {
          const model = tinyModel(device);
          const before = device.pool.liveBytes;
          const cache = new KvCache(model, [4], 1);
          const { layers, kvHeads, headDim } = tinyConfig;
          const numbers = 2 * layers * 4 * pageTokens * kvHeads * headDim;
          assert.equal(device.pool.liveBytes - before, 2 * numbers);
          cache.release();
          model.release();
        }
      } finally {
        gpu.close();
      }
    }
  },
);
