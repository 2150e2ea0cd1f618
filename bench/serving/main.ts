/**
 * What a served model gives beside the engine's own sampler, in turns on the same device.
 *
 *     deno run -A bench/serving/main.ts --model models/SmolLM2-135M-Instruct.Q4_1.gguf
 *
 * 64 completions at once, of random prompts of 16 tokens with 64 new ones each, by HTTP and by a `Sampler` in this
 * process: medians of the tokens a second, and their ratio. Then, while 64 long ones run, how long the first token of
 * a short prompt takes, in windows of decoding: the time between two pieces of the long ones.
 */

import { parseArgs } from "node:util";
import { Sampler } from "../../src/engine/sampling/sampler.ts";
import { pagesFor } from "../../src/engine/sampling/kv_cache.ts";
import { Gpu } from "../../src/gpu/gpu.ts";
import { loadModelFolder } from "../../src/model/weights/model_folder.ts";
import { streams } from "../../src/random/philox.ts";
import { serve } from "../../src/server/serve.ts";
import { ServedModels } from "../../src/server/serving/served_models.ts";
import { randomTokens } from "../model/random_tokens.ts";
import { median } from "../server/statistics.ts";

const { values } = parseArgs({
  options: {
    model: { type: "string" },
    pairs: { type: "string", default: "5" },
    requests: { type: "string", default: "64" },
  },
});
if (values.model === undefined) throw new Error("name a model: --model PATH");
const REQUESTS = Number(values.requests), PAIRS = Number(values.pairs);
const PROMPT = 16, NEW = 64, LONG = 192, WAITS = 5;
const SLOTS = 128, CACHE = 32_768;
/** As the served model's process has it. */
const STEPS = 8;

const root = Deno.makeTempDirSync();
await using served = new ServedModels({ slots: SLOTS, cacheTokens: CACHE, microBatchTokens: 64 });
const { info, text } = await served.open("model", values.model);
await using server = serve({
  ...{ hostname: "127.0.0.1", port: 0, token: null, root, folders: [], program: "none", served },
  checkpoints: `${root}/checkpoints`,
});

const gpu = await Gpu.open();
const { model } = await loadModelFolder(gpu, values.model, { trained: false });
const sampler = new Sampler(model, {
  slots: SLOTS,
  stepsBetweenReadbacks: STEPS,
  pages: pagesFor(CACHE),
});
let place = 0;
const prompts = (count: number) =>
  Array.from({ length: count }, () => randomTokens(place++, PROMPT, text.config.vocabularySize));

async function own(asked: readonly Uint32Array[]): Promise<number> {
  const begin = performance.now();
  asked.forEach((prompt, sequenceId) =>
    sampler.add({
      ...{ prompt, sequenceId, seed: 1, stream: streams.served, step: 0, stopTokens: [] },
      ...{ temperature: 1, topK: 0, topP: 1, minP: 0, maximumResponse: NEW },
      listener: { end() {} },
    })
  );
  while (await sampler.step());
  return asked.length * NEW / (performance.now() - begin) * 1000;
}

const ask = (prompt: Uint32Array, others: object) =>
  fetch(`${server.url}/v1/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ prompt: Array.from(prompt), seed: 1, ignore_eos: true, ...others }),
  });

async function overHttp(asked: readonly Uint32Array[]): Promise<number> {
  const begin = performance.now();
  const answers = await Promise.all(asked.map(async (prompt) => {
    return await (await ask(prompt, { max_tokens: NEW })).json();
  }));
  const tokens = answers.reduce((sum, { usage }) => sum + usage.completion_tokens, 0);
  return tokens / (performance.now() - begin) * 1000;
}

/** Milliseconds between the pieces of a stream, and to its first. */
async function pieces(prompt: Uint32Array, max_tokens: number): Promise<number[]> {
  const times = [performance.now()];
  const response = await ask(prompt, { max_tokens, stream: true });
  if (response.body === null) throw new Error("no stream");
  for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
    if (part.includes("data: {")) times.push(performance.now());
  }
  return times.slice(1).map((time, i) => time - times[i]);
}

console.log(`${values.model} · ${info.device.name} · engine ${info.device.engine}`);
const asked = prompts(REQUESTS);
await own(asked);
await overHttp(asked);
const pairs: (readonly [number, number])[] = [];
for (let pair = 0; pair < PAIRS; pair++) {
  const [rate, ownRate] = [await overHttp(asked), await own(asked)];
  pairs.push([rate, ownRate]);
  console.log(`by HTTP ${rate.toFixed(1)} tokens/s, the sampler itself ${ownRate.toFixed(1)}`);
}
const ratio = median(pairs.map(([rate, ownRate]) => rate / ownRate));
console.log(
  `${REQUESTS} at once: ${(100 * ratio).toFixed(1)} % of the sampler's own rate (median)`,
);

const long = prompts(REQUESTS).map((prompt) => pieces(prompt, LONG));
const waits: number[] = [];
for (let i = 0; i < WAITS; i++) {
  await new Promise((resolve) => setTimeout(resolve, 2500));
  const [first] = await pieces(prompts(1)[0], 1);
  waits.push(first);
}
const windows = (await Promise.all(long)).flatMap((gaps) => gaps.slice(1, -1));
const window = median(windows);
console.log(
  `a window ${window.toFixed(0)} ms; the first token of a short prompt after ${
    waits.map((wait) => (wait / window).toFixed(1)).join(", ")
  } of them`,
);
sampler.close();
model.release();
gpu.close();
Deno.removeSync(root, { recursive: true });
