/**
 * What an update takes when some groups of a batch are flat: their advantages are all 0, and nothing else acts on them.
 *
 *     deno run -A bench/idle_responses/main.ts --model weights/last-letter/generator
 *
 * `--prompts` of 8 random tokens with 8 responses of 40 each, all weights trained. Forward and backward over all
 * responses and over those that change the gradient, in turns on the same device: medians, and their ratio.
 */

import { parseArgs } from "node:util";
import { promptedSequence } from "../../src/engine/training/sequence.ts";
import type { SampledSequence } from "../../src/engine/training/losses.ts";
import { Trainer } from "../../src/engine/training/trainer.ts";
import { Gpu } from "../../src/gpu/gpu.ts";
import type { AdamwNumbers } from "../../src/model/decoder/optimizer.ts";
import { loadModelFolder } from "../../src/model/weights/model_folder.ts";
import { randomTokens } from "../model/random_tokens.ts";
import { median } from "../server/statistics.ts";

const { values } = parseArgs({
  options: {
    model: { type: "string", default: "weights/last-letter/generator" },
    prompts: { type: "string", default: "20" },
    rounds: { type: "string", default: "5" },
  },
});
const PROMPTS = Number(values.prompts), ROUNDS = Number(values.rounds);
const PROMPT = 8, RESPONSES = 8, RESPONSE = 40;

const gpu = await Gpu.open();
const { model } = await loadModelFolder(gpu, values.model, { trained: true });
const trainer = new Trainer(model, {
  microBatchTokens: 4096,
  sharePrompts: true,
  gradientCheckpointing: false,
  shards: 1,
});
const loss = {
  name: "ppo",
  clipRatioLow: 0.2,
  clipRatioHigh: 0.28,
  kl: null,
  entropyCoefficient: 0,
} as const;
const adamw: AdamwNumbers = {
  learningRate: 0,
  betas: [0.9, 0.95],
  epsilon: 1e-8,
  weightDecay: 0,
  maxGradientNorm: 1,
};

/** The batch with its first groups flat. */
function batch(flatGroups: number): SampledSequence[] {
  let place = 0;
  const random = (count: number) => randomTokens(place++, count, model.config.vocabularySize);
  return Array.from({ length: PROMPTS }, (_, group) => {
    const prompt = random(PROMPT);
    return Array.from({ length: RESPONSES }, (_, r) => ({
      ...promptedSequence(prompt, random(RESPONSE)),
      oldLogProbs: new Float32Array(RESPONSE).fill(-4),
      advantages: new Float32Array(RESPONSE).fill(group < flatGroups ? 0 : r % 2 === 0 ? 1 : -1),
      weights: new Float32Array(RESPONSE).fill(1 / (PROMPTS * RESPONSES * RESPONSE)),
    }));
  }).flat();
}

async function seconds(sequences: readonly SampledSequence[], leavesOutIdle: boolean) {
  const begin = performance.now();
  await trainer.forwardBackward(sequences, loss, 1, { leavesOutIdle });
  await trainer.optimStep(adamw);
  await gpu.finish();
  return (performance.now() - begin) / 1000;
}

await seconds(batch(0), true);
console.log("flat groups   all computed   idle left out   ratio");
for (const share of [0, 0.35, 0.5]) {
  const sequences = batch(Math.round(share * PROMPTS));
  const all: number[] = [], rest: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    all.push(await seconds(sequences, false));
    rest.push(await seconds(sequences, true));
  }
  const [before, after] = [median(all), median(rest)];
  console.log(
    [
      `${(100 * share).toFixed(0)} %`.padEnd(11),
      `${before.toFixed(3)} s`.padStart(15),
      `${after.toFixed(3)} s`.padStart(16),
      (after / before).toFixed(2).padStart(8),
    ].join(""),
  );
}
trainer.release();
model.release();
gpu.close();
