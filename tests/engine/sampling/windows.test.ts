/** Layers with windows hold the pages that they can still see, and no others. */

import assert from "node:assert/strict";
import { pagesOfReaches } from "../../../src/engine/sampling/cache_size.ts";
import { pagesFor } from "../../../src/engine/sampling/kv_cache.ts";
import { forwardSequences } from "../../../src/engine/training/forward.ts";
import { pageTokens } from "../../../src/kernels/attention/attention_shape.ts";
import { type LayerKind, type ModelConfig, wholeHeads } from "../../../src/model/decoder/config.ts";
import type { Model } from "../../../src/model/decoder/model.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { tinyModel } from "../../model/tiny_model.ts";
import { onPoisonedPages, stepsBetweenReadbacks } from "./poisoned_pages.ts";
import {
  alone,
  ask,
  content,
  finish,
  plain,
  tokensOf,
  type Wanted,
  withSampler,
} from "./wanted.ts";

const [whole] = wholeHeads(8, 10000);
const within = (window: number): LayerKind => ({ ...whole, window });

/** Windows that end within a block of keys, at a block's and at a page's end, of one token; with and without whole layers. */
const models: Readonly<Record<string, Pick<ModelConfig, "layers" | "kinds">>> = {
  "every second layer has a window": { layers: 4, kinds: [within(40), whole] },
  "windows of two lengths": { layers: 3, kinds: [within(9), whole, within(64)] },
  "all layers have a window": { layers: 2, kinds: [within(33)] },
  "windows of one token and of two pages": { layers: 2, kinds: [within(1), within(64)] },
};

/** What training says of what was sampled. */
async function trainedLogProbs(
  model: Model,
  wanted: readonly Wanted[],
  tokens: readonly Uint32Array[],
): Promise<Float32Array[]> {
  const sequences = wanted.map(({ prompt }, i) => ({
    tokens: Uint32Array.of(...prompt, ...tokens[i].subarray(0, -1)),
    targets: tokens[i],
    first: prompt.length - 1,
  }));
  const options = { microBatchTokens: 4096, sharePrompts: true };
  return (await forwardSequences(model, sequences, options)).map(({ logProbs }) => logProbs);
}

for (const [name, config] of Object.entries(models)) {
  onEveryGpu(`windows, ${name}: training's bits beside pages full of NaN`, async (gpu) => {
    const model = tinyModel(gpu, { trained: false, config });
    try {
      const common = tokensOf(120, 1);
      const wanted = Array.from({ length: 14 }, (_, i): Wanted => ({
        ...plain,
        // Beginnings in common that end at a page's end, within one, within a window of a prompt's end and before.
        prompt: Uint32Array.of(
          ...common.subarray(0, [0, 96, 100, 120, 120][i % 5]),
          ...tokensOf([1, 3, 45, 150][i % 4], 2 + i),
        ),
        sequenceId: i,
        maximumResponse: 20 + 25 * (i % 7),
        promptLogProbs: i % 6 === 5,
      }));
      const longest = Math.max(
        ...wanted.map(({ prompt, maximumResponse }) => pagesFor(prompt.length + maximumResponse)),
      );
      const slots = 9;
      // Too few for all of them.
      const pages = config.kinds.includes(whole) ? 2 * longest + 6 : 10;
      const found: { putBack: number; cached: number } = { putBack: 0, cached: 0 };
      const seen = await onPoisonedPages(gpu, model, async () => {
        const expected = await alone(model, wanted);
        const trained = await trainedLogProbs(model, wanted, expected.map(({ tokens }) => tokens));
        assert.deepEqual(trained, expected.map(({ logProbs }) => logProbs));
        const options = { slots, stepsBetweenReadbacks, pages };
        await withSampler(model, options, async (sampler) => {
          for (let turn = 0; turn < 2; turn++) {
            const asked = wanted.map((one) => ask(sampler, one).response);
            await finish(sampler);
            const given = await Promise.all(asked);
            assert.deepEqual(given.map(content), expected.map(content));
            assert.deepEqual(given.map(({ prompt }) => prompt), expected.map((one) => one.prompt));
            found.putBack += given.filter(({ timesPutBack }) => timesPutBack > 0).length;
            found.cached += given.filter(({ cachedTokens }) => cachedTokens > 0).length;
          }
        });
      });
      console.log(`[${gpu.info.engine}] ${JSON.stringify({ ...found, ...seen })}`);
      assert.ok(found.putBack > 0 && found.cached > 5, "the requests must meet both");
      assert.ok(seen.poisoned > 100);
    } finally {
      model.release();
    }
  });
}

onEveryGpu("windows: a text longer than the cache of all its layers", async (gpu) => {
  const config = { kinds: [within(40)], maxPositions: 2048 };
  const model = tinyModel(gpu, { trained: false, config });
  try {
    // 320 tokens of keys; with pages for all of them the first was refused, and the two put one another back.
    const options = { slots: 2, stepsBetweenReadbacks, pages: 10 };
    const wanted = [1, 2].map((sequenceId): Wanted => ({
      ...{ ...plain, prompt: tokensOf(1500, sequenceId), sequenceId, maximumResponse: 150 },
      promptLogProbs: sequenceId === 2,
    }));
    const seen = await onPoisonedPages(gpu, model, async () => {
      const responses = await withSampler(model, options, async (sampler) => {
        assert.equal(sampler.mostTokens, 2048);
        const asked = wanted.map((one) => ask(sampler, one).response);
        await finish(sampler);
        return await Promise.all(asked);
      });
      assert.deepEqual(responses.map(({ timesPutBack }) => timesPutBack), [0, 0]);
      const tokens = responses.map((one) => one.tokens);
      const trained = await trainedLogProbs(model, wanted, tokens);
      assert.deepEqual(trained, responses.map(({ logProbs }) => logProbs));
      const { prompt } = wanted[1];
      const [read] = await trainedLogProbs(
        model,
        [{ ...wanted[1], prompt: prompt.subarray(0, 1) }],
        [prompt.subarray(1)],
      );
      assert.deepEqual(responses[1].prompt?.logProbs.subarray(1), read);
    });
    assert.deepEqual(seen.mostHeld, [3]);
  } finally {
    model.release();
  }
});

onEveryGpu("windows: what lies before a prompt's end is kept for another response", async (gpu) => {
  const config = { layers: 2, kinds: [within(40), whole] };
  const model = tinyModel(gpu, { trained: false, config });
  try {
    const options = { slots: 1, stepsBetweenReadbacks, pages: 16 };
    // Wherever on a page a prompt and its window begin and end; pages that a text has passed are gone at once.
    await onPoisonedPages(gpu, model, async () => {
      await withSampler(model, options, async (sampler) => {
        for (const length of [102, 103, 104, 128, 129, 135, 136, 159, 160]) {
          const wanted = { ...plain, prompt: tokensOf(length, length) };
          const [first, again] = [120, 1].map((maximumResponse) =>
            ask(sampler, { ...wanted, maximumResponse }).response
          );
          await finish(sampler);
          assert.equal((await first).cachedTokens, 0);
          assert.equal((await again).cachedTokens, length - 1, `a prompt of ${length}`);
          assert.equal((await again).logProbs[0], (await first).logProbs[0]);
        }
      });
    });
  } finally {
    model.release();
  }
});

onEveryGpu(
  "windows: one layer of six keeps all, and what was kept is gone on from",
  async (gpu) => {
    const kinds = Array.from({ length: 6 }, (_, layer) => layer === 5 ? whole : within(64));
    const model = tinyModel(gpu, {
      trained: false,
      config: { kinds, layers: 6, maxPositions: 8192 },
    });
    try {
      const pages = 256;
      const options = { slots: 4, stepsBetweenReadbacks: 8, pages };
      await withSampler(model, options, async (sampler) => {
        const one = async (wanted: Partial<Wanted>) => {
          const { response } = ask(sampler, { ...plain, prompt: tokensOf(1, 1), ...wanted });
          await finish(sampler);
          return await response;
        };
        const before = gpu.pool.liveBytes;
        const text = tokensOf(6000, 3);
        const long = await one({ prompt: text, maximumResponse: 100 });
        // Keys and values of 16 numbers in f32; the tables and slots that lie beside them are less than a page of each layer.
        const pageBytes = 2 * 4 * 16 * pageTokens;
        const [ofWhole, ofWindow] = pagesOfReaches(model.config, pages, { slots: 4, steps: 8 });
        assert.deepEqual([ofWhole, ofWindow], [256, 4 * 4 + 64]);
        const taken = (gpu.pool.liveBytes - before) / pageBytes;
        const cached = ofWhole + 5 * ofWindow;
        assert.ok(taken >= cached && taken < cached + 6 * 64, `${taken} pages of a layer`);
        const trained = await trainedLogProbs(
          model,
          [{ ...plain, prompt: text, maximumResponse: 100 }],
          [long.tokens],
        );
        assert.deepEqual([long.logProbs], trained);
        // The next turn goes on from the end of the response, though only its window's pages are there.
        const turn = Uint32Array.of(...text, ...long.tokens, ...tokensOf(50, 4));
        const next = await one({ prompt: turn });
        assert.equal(next.cachedTokens, 6099);
        // Another response to the first prompt finds the window before its end.
        const again = await one({ prompt: text, maximumResponse: 100 });
        assert.equal(again.cachedTokens, 5999);
        assert.deepEqual(content(again), content(long));
        // In the midst of the text nobody has branched off: it is computed from where a window is whole, on the same pages.
        const available = sampler.availablePages;
        const middle = { prompt: Uint32Array.of(...text.subarray(0, 3000), ...tokensOf(40, 5)) };
        const branch = await one(middle);
        assert.ok(branch.cachedTokens < 3000);
        const [expected] = await alone(model, [{ ...plain, ...middle }]);
        assert.deepEqual(content(branch), content(expected));
        assert.equal(sampler.availablePages, available);
        // From now on somebody has.
        assert.equal((await one(middle)).cachedTokens, 3039);
        const other = { prompt: Uint32Array.of(...text.subarray(0, 3000), ...tokensOf(40, 6)) };
        assert.equal((await one(other)).cachedTokens, 3000);
      });
    } finally {
      model.release();
    }
  },
);
