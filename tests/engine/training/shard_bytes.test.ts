/** With parts, weights have the same bytes however batches are cut into passes and parts shared out. */

import assert from "node:assert/strict";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import type { Reducer } from "../../../src/engine/training/reducer.ts";
import { alone } from "../../../src/engine/training/reducer.ts";
import type { SampledSequence } from "../../../src/engine/training/losses.ts";
import { promptedSequence } from "../../../src/engine/training/sequence.ts";
import { Trainer } from "../../../src/engine/training/trainer.ts";
import type { ModelConfig } from "../../../src/model/decoder/config.ts";
import { initialiseAdapter } from "../../../src/model/decoder/initialise.ts";
import { loraTargets } from "../../../src/model/decoder/lora.ts";
import { Model } from "../../../src/model/decoder/model.ts";
import { RandomStream } from "../../../src/random/philox.ts";
import { assertClose, onEveryGpu } from "../../kernels/harness.ts";
import { adamwNumbers, tinyConfig, tinyModel } from "../../model/tiny_model.ts";
import { flat, Meeting } from "./shard_tree.ts";

const random = new RandomStream(21, 97);
const tokens = (count: number) =>
  Uint32Array.from({ length: count }, () => random.integer(tinyConfig.vocabularySize));
const floats = (count: number, size: number) =>
  Float32Array.from({ length: count }, () => size * (2 * random.uniform() - 1));

/** Two batches of prompts of different lengths with one to four responses each. */
const batches = [0, 1].map(() =>
  [[1, 2], [19, 3], [7, 1], [30, 1], [3, 2]].flatMap(([length, responses]) => {
    const prompt = tokens(length);
    return Array.from({ length: responses }, (): SampledSequence => {
      const response = tokens(1 + random.integer(17));
      const R = response.length;
      return {
        ...promptedSequence(prompt, response),
        oldLogProbs: floats(R, 1).map((x) => x - 4),
        advantages: floats(R, 2),
        weights: new Float32Array(R).fill(1 / 200),
      };
    });
  })
);

interface Kind {
  readonly config?: Partial<ModelConfig>;
  readonly lora?: boolean;
}

const kinds: Readonly<Record<string, Kind>> = {
  "a table for embedding and head together": {
    config: { tiedEmbeddings: true, qkvBias: true, qkNorm: false },
  },
  "a table for each, and norms of queries and keys": {},
  "an adapter": { config: { tiedEmbeddings: true }, lora: true },
};

function modelOf(gpu: Gpu, { config, lora = false }: Kind): { model: Model; release: () => void } {
  const base = tinyModel(gpu, { config, trained: !lora });
  if (!lora) return { model: base, release: () => base.release() };
  const adapter = { rank: 4, alpha: 8, targets: [...loraTargets] };
  const model = base.adapted({ config: adapter, basePath: "", trained: true });
  assert.ok(model.adapter);
  initialiseAdapter(model.adapter.parameters, 5);
  return {
    model,
    release() {
      model.release();
      base.release();
    },
  };
}

/** The trained weights after 8 steps, and the losses that this process saw. */
async function trained(
  gpu: Gpu,
  kind: Kind,
  options: { readonly microBatchTokens: number; readonly shards: number },
  reducer: Reducer = alone,
): Promise<{ weights: Float32Array; losses: number[] }> {
  const losses: number[] = [];
  const { model, release } = modelOf(gpu, kind);
  const trainer = new Trainer(
    model,
    { gradientCheckpointing: false, sharePrompts: true, ...options },
    reducer,
  );
  const loss = {
    name: "ppo",
    clipRatioLow: 0.2,
    clipRatioHigh: 0.2,
    kl: null,
    entropyCoefficient: 0.01,
  } as const;
  try {
    for (let step = 0; step < 8; step++) {
      // One step is made of two batches.
      for (const batch of batches.slice(0, step === 5 ? 2 : 1)) {
        losses.push((await trainer.forwardBackward(batch, loss)).loss);
      }
      const { nonFinite } = await trainer.optimStep(adamwNumbers(1e-3));
      assert.equal(nonFinite, 0);
    }
    const weights = flat(await gpu.readAll(model.trainable?.weights ?? []));
    return { weights, losses };
  } finally {
    trainer.release();
    release();
  }
}

for (const [name, kind] of Object.entries(kinds)) {
  onEveryGpu(`4 parts, ${name}: the cut into passes changes no byte in 8 steps`, async (gpu) => {
    const whole = await trained(gpu, kind, { microBatchTokens: 8192, shards: 4 });
    assert.ok(whole.weights.some((weight) => weight !== 0));
    for (const microBatchTokens of [30, 75]) {
      const cut = await trained(gpu, kind, { microBatchTokens, shards: 4 });
      assert.deepEqual(cut, whole, `${microBatchTokens}`);
    }
  });
}

onEveryGpu(
  "4 parts: 2, 3 or 4 processes that share them change no byte in 8 steps",
  async (gpu) => {
    const kind = kinds["a table for embedding and head together"];
    const whole = await trained(gpu, kind, { microBatchTokens: 60, shards: 4 });
    for (const bounds of [[0, 2, 4], [0, 1, 3, 4], [0, 1, 2, 3, 4]]) {
      const ranges = bounds.slice(1).map((end, rank) => ({ first: bounds[rank], end }));
      const meeting = new Meeting(gpu, ranges);
      const all = await Promise.all(
        ranges.map((_, rank) =>
          trained(gpu, kind, { microBatchTokens: 30 + 10 * rank, shards: 4 }, meeting.reducer(rank))
        ),
      );
      for (const { weights } of all) {
        assert.deepEqual(weights, whole.weights, `parts cut at ${bounds}`);
      }
      // Each process sees the loss of its own parts.
      const sums = whole.losses.map((_, step) =>
        all.reduce((sum, { losses }) => sum + losses[step], 0)
      );
      assertClose(sums, whole.losses, { absolute: 1e-12, relative: 1e-12, why: "f64 sums" });
    }
  },
);

onEveryGpu("parts change a gradient's last digits alone", async (gpu) => {
  const kind = kinds["a table for embedding and head together"];
  const { weights: one } = await trained(gpu, kind, { microBatchTokens: 8192, shards: 1 });
  const { weights: four } = await trained(gpu, kind, { microBatchTokens: 8192, shards: 4 });
  assert.notDeepEqual(four, one);
  // AdamW moves a weight by up to the learning rate a step, most where gradients are least certain; 8 steps.
  const apart = four.map((weight, i) => Math.abs(weight - one[i]));
  assert.ok(apart.every((difference) => difference < 8e-3));
  const mean = apart.reduce((sum, difference) => sum + difference, 0) / apart.length;
  assert.ok(mean < 1e-5, `${mean}`);
});
