/** Requests with random settings that come, are put back and are aborted at random: none shows in another. */

import assert from "node:assert/strict";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import { pagesFor } from "../../../src/engine/sampling/kv_cache.ts";
import type { Response, SampledTokens } from "../../../src/engine/sampling/request.ts";
import { RandomStream } from "../../../src/random/philox.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { deltaKind } from "../training/small_training.ts";
import { type ModelConfig, wholeHeads } from "../../../src/model/decoder/config.ts";
import { tinyModel } from "../../model/tiny_model.ts";
import { alone, lettersOf, plain, tokensOf, type Wanted, withSampler } from "./wanted.ts";

const tokenizer = { decode: lettersOf };

/** Requests that differ in everything; many begin with the same tokens. */
function differentRequests(count: number): Wanted[] {
  const random = new RandomStream(11, 97);
  const pick = <Item>(...items: Item[]) => items[random.integer(items.length)];
  const some = <Item>(length: number, make: () => Item) => Array.from({ length }, make);
  const beginnings = [
    tokensOf(0, 1),
    tokensOf(0, 1),
    tokensOf(20, 2),
    tokensOf(45, 3),
    tokensOf(70, 4),
  ];
  return Array.from({ length: count }, (_, i): Wanted => ({
    ...plain,
    prompt: Uint32Array.from([...pick(...beginnings), ...tokensOf(1 + random.integer(12), i)]),
    temperature: pick(0, 0.6, 1, 1.4),
    topK: pick(0, 0, 3, 64),
    topP: pick(1, 1, 0.8),
    minP: pick(0, 0, 0.1),
    seed: pick(3, 2 ** 33 + 1),
    stream: 1 + random.integer(3),
    step: random.integer(3),
    sequenceId: i,
    maximumResponse: pick(1, 2, 25, 30, 40, 50, 60, 70, 70),
    stopTokens: some(pick(0, 0, 0, 1, 6), () => random.integer(64)),
    stopStrings: some(pick(0, 0, 0, 0, 1, 4), () =>
      lettersOf([0, 0].map(() => random.integer(64)))
        .slice(random.integer(2), 4 - random.integer(2))),
    likeliest: pick(0, 0, 0, 3),
    promptLogProbs: pick(false, false, false, true),
    promptLikeliest: pick(0, 0, 0, 2),
  })).map((wanted, i) => {
    // Some prompts are read alone.
    const asksPrompt = wanted.promptLogProbs || wanted.promptLikeliest;
    return asksPrompt && i % 4 === 0 ? { ...wanted, maximumResponse: 0 } : wanted;
  });
}

/** Does something whenever the host waits for the GPU, and when it has waited. */
async function atEveryWait(gpu: Gpu, interrupt: () => void, body: () => Promise<void>) {
  const { readAll } = gpu;
  gpu.readAll = async (tensors) => {
    interrupt();
    const read = await readAll.call(gpu, tensors);
    interrupt();
    return read;
  };
  try {
    await body();
  } finally {
    gpu.readAll = readAll;
  }
}

const bits = (floats: Float32Array) => new Uint32Array(floats.slice().buffer);

/** A response that may have been cut off is the beginning of the one that it is alone. */
function assertBegins(found: Response, whole: Response, i: number): void {
  const { length } = found.tokens;
  assert.deepEqual(found.tokens, whole.tokens.slice(0, length), `tokens of ${i}`);
  assert.deepEqual(bits(found.logProbs), bits(whole.logProbs.slice(0, length)), `bits of ${i}`);
  const k = whole.likeliest?.k ?? 0;
  assert.equal(found.likeliest?.k ?? 0, k);
  if (found.likeliest && whole.likeliest) {
    const { tokens, logProbs } = whole.likeliest;
    assert.deepEqual(found.likeliest.tokens, tokens.slice(0, k * length), `neighbours of ${i}`);
    assert.deepEqual(bits(found.likeliest.logProbs), bits(logProbs.slice(0, k * length)));
  }
  const isWhole = found.end.reason !== "aborted";
  if (length > 0 || isWhole) assert.deepEqual(found.prompt, whole.prompt, `prompt of ${i}`);
  if (isWhole) assert.deepEqual(found.end, whole.end, `end of ${i}`);
}

/** What was told piece by piece is what the end said. */
function assertStreamed(pieces: readonly SampledTokens[], response: Response): void {
  const joined = (key: "tokens" | "logProbs") => pieces.flatMap((next) => [...next[key]]);
  assert.deepEqual(joined("tokens"), [...response.tokens]);
  assert.deepEqual(joined("logProbs"), [...response.logProbs]);
  const neighbours = pieces.flatMap(({ likeliest }) => [...likeliest?.logProbs ?? []]);
  assert.deepEqual(neighbours, [...response.likeliest?.logProbs ?? []]);
}

const [plainKind] = wholeHeads(8, 10000);

/** Models by what sets them apart. */
const models: Readonly<Record<string, Partial<ModelConfig> | undefined>> = {
  "": {},
  ", with DeltaNets": deltaKind.config,
  ", with windows": {
    layers: 3,
    kinds: [{ ...plainKind, window: 40 }, plainKind, { ...plainKind, window: 9 }],
  },
};

for (const [name, config] of Object.entries(models)) {
  onEveryGpu(
    `sampler: 200 requests at random times, 40 aborted, in too small a cache${name}`,
    async (gpu) => {
      const model = tinyModel(gpu, { trained: false, config });
      try {
        const wanted = differentRequests(200);
        const expected = await alone(model, wanted, tokenizer);
        const needed = wanted.map(({ prompt, maximumResponse }) =>
          pagesFor(prompt.length + maximumResponse)
        );
        // Less than a third: many end early or have a beginning in common.
        const pages = Math.floor(needed.reduce((sum, count) => sum + count, 0) / 10);
        const random = new RandomStream(5, 96);
        const given = new Map<number, Response>();
        const streamed: SampledTokens[][] = wanted.map(() => []);
        const options = { slots: 200, stepsBetweenReadbacks: 6, pages, tokenizer };
        /** How many tokens those had that were aborted. */
        const aborted: number[] = [];
        await withSampler(model, options, async (sampler) => {
          const left = wanted.map((_, i) => i).sort(() => random.uniform() - 0.5);
          const ids = new Map<number, number>();
          const interrupt = () => {
            for (let count = random.integer(2); count > 0 && aborted.length < 40; count--) {
              const running = [...ids.keys()];
              if (running.length === 0) return;
              const i = running[random.integer(running.length)];
              sampler.abort(ids.get(i) ?? NaN);
              aborted.push(given.get(i)?.tokens.length ?? NaN);
            }
          };
          await atEveryWait(gpu, interrupt, async () => {
            while (left.length > 0 || sampler.busy) {
              for (const i of left.splice(0, random.integer(150))) {
                const listener = {
                  tokens: (next: SampledTokens) => {
                    assert.ok(!given.has(i), "nothing is told after the end");
                    streamed[i].push(next);
                  },
                  end: (response: Response) => {
                    assert.ok(!given.has(i), "it ends once");
                    given.set(i, response);
                    ids.delete(i);
                  },
                };
                ids.set(i, sampler.add({ ...wanted[i], listener }));
              }
              await sampler.step();
            }
          });
        });
        assert.equal(given.size, 200);
        for (const [i, response] of given) {
          assertBegins(response, expected[i], i);
          assertStreamed(streamed[i], response);
        }
        const count = (holds: (response: Response) => boolean) =>
          [...given.values()].filter(holds).length;
        const counts = {
          aborted: count(({ end }) => end.reason === "aborted"),
          "aborted in their midst": aborted.filter((tokens) => tokens > 0).length,
          "put back": count(({ timesPutBack }) => timesPutBack > 0),
          "stopped by a token": count(({ end }) => end.reason === "stop token"),
          "stopped by a string": count(({ end }) => end.reason === "stop string"),
          "with cached beginnings": count(({ cachedTokens }) => cachedTokens > 0),
        };
        console.log(`[${gpu.info.engine}] ${JSON.stringify(counts)}`);
        assert.equal(counts.aborted, 40);
        assert.ok(counts["aborted in their midst"] >= 5 && counts["put back"] >= 3);
        assert.ok(counts["stopped by a token"] > 20 && counts["stopped by a string"] > 10);
        assert.ok(counts["with cached beginnings"] > 60);
      } finally {
        model.release();
      }
    },
  );
}
