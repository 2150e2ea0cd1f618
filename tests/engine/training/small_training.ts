/** A small model trained for some steps on batches cut into shards: what several tests compare byte by byte. */

import assert from "node:assert/strict";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import type { Loss, SampledSequence } from "../../../src/engine/training/losses.ts";
import type { Reducer } from "../../../src/engine/training/reducer.ts";
import { savedState, stateReceiver } from "../../../src/engine/training/saved_state.ts";
import { promptedSequence } from "../../../src/engine/training/sequence.ts";
import { Trainer } from "../../../src/engine/training/trainer.ts";
import { type ModelConfig, plainExperts } from "../../../src/model/decoder/config.ts";
import { initialiseAdapter } from "../../../src/model/decoder/initialise.ts";
import { loraTargets, targetsIn } from "../../../src/model/decoder/lora.ts";
import { fromStorage } from "../../../src/model/decoder/half_precision.ts";
import type { Model } from "../../../src/model/decoder/model.ts";
import { RandomStream } from "../../../src/random/philox.ts";
import { adamwNumbers, tinyConfig, tinyModel } from "../../model/tiny_model.ts";
import { flat } from "./shard_tree.ts";

const random = new RandomStream(21, 97);
const tokens = (count: number) =>
  Uint32Array.from({ length: count }, () => random.integer(tinyConfig.vocabularySize));
const floats = (count: number, size: number) =>
  Float32Array.from({ length: count }, () => size * (2 * random.uniform() - 1));

/** Two batches of prompts of different lengths with one to four responses each. */
export const batches: readonly SampledSequence[][] = [0, 1].map(() =>
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

/** A loss with a clip and an entropy bonus. */
export const clippedLoss = {
  name: "ppo",
  clipRatioLow: 0.2,
  clipRatioHigh: 0.2,
  kl: null,
  entropyCoefficient: 0.01,
} as const satisfies Loss;

/** What is trained. */
export interface Kind {
  readonly config?: Partial<ModelConfig>;
  readonly lora?: boolean;
  /** How weights lie that are trained themselves. */
  readonly storage?: "f16" | "bf16";
}

export const tiedKind: Kind = {
  config: {
    tiedEmbeddings: true,
    biases: { qkv: true, attentionOutput: false, feedForward: false },
    qkNorm: false,
  },
};

const [dense] = tinyConfig.kinds;
export const expertsKind: Kind = {
  config: {
    architecture: "qwen3_moe",
    kinds: [{
      ...dense,
      experts: { ...plainExperts, count: 7, chosen: 3, innerSize: 20, normalised: true },
    }, dense],
  },
};

/** A DeltaNet, and attention with gates. */
export const deltaKind: Kind = {
  config: {
    architecture: "qwen3_5_text",
    kinds: [
      {
        ...dense,
        delta: { keyHeads: 2, valueHeads: 4, keyDim: 12, valueDim: 8, taps: 4 },
      },
      { ...dense, gated: true },
    ],
  },
};

/** The same with experts, and one that all tokens take. */
export const sharedExpertKind: Kind = {
  config: {
    architecture: "qwen3_5_moe_text",
    kinds: (deltaKind.config?.kinds ?? []).map((kind) => ({
      ...kind,
      experts: {
        ...{ ...plainExperts, count: 5, chosen: 2, innerSize: 12 },
        ...{ normalised: true, shared: true },
      },
    })),
  },
};

export const kinds: Readonly<Record<string, Kind>> = {
  "a table for embedding and head together": tiedKind,
  "a table for each, and norms of queries and keys": {},
  "weights in bfloat16": { ...tiedKind, storage: "bf16" },
  "weights in float16": { storage: "f16" },
  "experts": expertsKind,
  "a DeltaNet and gated attention": deltaKind,
  "experts of which all tokens share one": sharedExpertKind,
  "an adapter": { config: { tiedEmbeddings: true }, lora: true },
  "an adapter on experts": { ...expertsKind, lora: true },
};

/** Opens a model of random weights, always the same. */
export function modelOf(
  gpu: Gpu,
  { config, lora = false, storage }: Kind,
): { model: Model; release: () => void } {
  const base = tinyModel(gpu, { config, trained: !lora, storage });
  if (!lora) return { model: base, release: () => base.release() };
  const adapter = { rank: 4, alpha: 8, targets: targetsIn(base.config, loraTargets) };
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

/** How the model is trained, and by which of several processes. */
export interface Training {
  readonly microBatchTokens: number;
  readonly shards: number;
  readonly reducer?: Reducer;
  readonly sharePrompts?: boolean | number;
  readonly gradientCheckpointing?: boolean;
}

/** Opens a trainer with its model, runs `body`, and returns their memory. */
export async function withTraining<Result>(
  gpu: Gpu,
  kind: Kind,
  { reducer, sharePrompts = true, gradientCheckpointing = false, ...cut }: Training,
  body: (trainer: Trainer) => Promise<Result>,
): Promise<Result> {
  const { model, release } = modelOf(gpu, kind);
  let trainer: Trainer | null = null;
  try {
    const options = { gradientCheckpointing, sharePrompts, ...cut };
    trainer = new Trainer(model, options, reducer);
    return await body(trainer);
  } finally {
    trainer?.release();
    release();
  }
}

/** All numbers that some steps make. */
export interface Trained {
  readonly weights: Float32Array;
  readonly losses: readonly number[];
  readonly norms: readonly number[];
  readonly outputs: Float32Array;
}

/** Everything that a step changes, by its name in a checkpoint; on the first of several ranks. */
export async function savedBytes(trainer: Trainer): Promise<Record<string, Float32Array>> {
  const saved: Record<string, Float32Array> = {};
  for (const [name, { shape: [size], pieces }] of Object.entries(savedState(trainer))) {
    const whole = saved[name] = new Float32Array(size);
    let at = 0;
    for await (const piece of pieces()) {
      whole.set(piece as Float32Array, at);
      at += piece.byteLength / 4;
    }
    assert.equal(at, size);
  }
  return saved;
}

/** Goes on from there: the tensors come in pieces of an odd length. */
export async function restore(
  trainer: Trainer,
  saved: Readonly<Record<string, Float32Array>>,
  step: number,
): Promise<void> {
  const entries = Object.entries(saved).map(([name, { length }]) => {
    return [name, { dtype: "F32", shape: [length], begin: 0, end: 4 * length }] as const;
  });
  const differs = (kind: string) => new Error(`${kind} differ`);
  const receive = stateReceiver(trainer, new Map(entries), differs);
  const most = 4 * 5003;
  for (const [name, { buffer, byteLength }] of Object.entries(saved)) {
    for (let begin = 0; begin < byteLength; begin += most) {
      const bytes = new Uint8Array(buffer as ArrayBuffer).slice(begin, begin + most);
      await receive({ name, begin, bytes });
    }
  }
  trainer.optimizer.step = step;
  trainer.optimizer.weightsTaken();
}

/** Trains for 8 steps, one of which is made of two batches. */
export function trained(gpu: Gpu, kind: Kind, training: Training): Promise<Trained> {
  return withTraining(gpu, kind, training, (trainer) => steps(trainer, 8));
}

/** Makes some steps. */
export async function steps(trainer: Trainer, count: number): Promise<Trained> {
  const { model } = trainer;
  const losses: number[] = [], norms: number[] = [], outputs: Float32Array[] = [];
  for (let step = 0; step < count; step++) {
    for (const batch of batches.slice(0, step === 5 ? 2 : 1)) {
      const found = await trainer.forwardBackward(batch, clippedLoss);
      losses.push(found.loss);
      outputs.push(...found.outputs.flatMap((one) => Object.values(one) as Float32Array[]));
    }
    const { nonFinite, gradientNorm } = await trainer.optimStep(adamwNumbers(1e-3));
    assert.equal(nonFinite, 0);
    norms.push(gradientNorm);
  }
  const trained = model.trainable?.weights ?? [];
  const weights = flat(
    (await model.gpu.readAll(trained)).map((data, i) => fromStorage(data, trained[i].dtype)),
  );
  return { weights, losses, norms, outputs: flat(outputs) };
}
