/** Gradients of weights that are summed over tokens on matrix units. */

import assert from "node:assert/strict";
import type { SampledSequence } from "../../../src/engine/training/losses.ts";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import { gpuOf } from "../../kernels/harness.ts";
import { onMatrixUnits } from "../../kernels/on_matrix_units.ts";
import {
  batches,
  clippedLoss,
  deltaKind,
  expertsKind,
  type Kind,
  sharedExpertKind,
  tiedKind,
  type Training,
  withTraining,
} from "./small_training.ts";

/** Without an entropy bonus some sequences add nothing. */
const loss = { ...clippedLoss, entropyCoefficient: 0 };
const batch: readonly SampledSequence[] = batches[0].map((sequence, s) => ({
  ...sequence,
  advantages: [0, 2, 3, 4].includes(s) ? sequence.advantages.map(() => 0) : sequence.advantages,
}));

/** A batch's gradient, and its loss. */
function gradientOf(
  gpu: Gpu,
  kind: Kind,
  { leavesOutIdle = false, ...training }: Training & { readonly leavesOutIdle?: boolean },
): Promise<Float32Array[]> {
  return withTraining(gpu, kind, training, async (trainer) => {
    await trainer.forwardBackward(batch, loss, 1, { leavesOutIdle });
    return await gpu.readAll(trainer.optimizer.gradients) as Float32Array[];
  });
}

const kinds: readonly [string, Kind, number][] = [
  ["a table for each", {}, 1],
  ["a table for embedding and head, shards", tiedKind, 3],
  ["weights in bfloat16", { storage: "bf16" }, 1],
  ["experts", expertsKind, 1],
  ["a DeltaNet", deltaKind, 1],
  ["experts of which one is shared", sharedExpertKind, 1],
  ["an adapter", { config: { tiedEmbeddings: true }, lora: true }, 1],
];

for (const [name, kind, shards] of kinds) {
  onMatrixUnits(
    `matrix units: a gradient has the same bits in one pass and in several, and without idle sequences: ${name}`,
    ["f16"],
    async (gpu) => {
      for (const sharePrompts of [true, 2, false]) {
        const training = { shards, sharePrompts };
        const whole = await gradientOf(gpu, kind, { ...training, microBatchTokens: 4096 });
        for (const microBatchTokens of [1, 60, 4096]) {
          for (const leavesOutIdle of [false, true]) {
            const cut = await gradientOf(gpu, kind, {
              ...{ ...training, microBatchTokens, leavesOutIdle },
              gradientCheckpointing: leavesOutIdle,
            });
            // Zeros are added with either sign.
            const signless = (all: Float32Array[]) => all.map((part) => part.map((x) => x + 0));
            const what =
              `prompts shared: ${sharePrompts}, passes of ${microBatchTokens}, idle left out: ${leavesOutIdle}`;
            assert.deepEqual(signless(cut), signless(whole), what);
          }
        }
      }
    },
  );
}

onMatrixUnits(
  "matrix units: a gradient is that of f32 but for what its factors lose, and all of a model's matrices have it there",
  ["f16"],
  async (gpu) => {
    const training = { shards: 1, microBatchTokens: 4096 };
    const labels = new Set<string>();
    const { dispatch } = gpu;
    gpu.dispatch = (launch, ...rest) => {
      if (launch.code.includes("largestA")) labels.add(launch.label);
      return dispatch.call(gpu, launch, ...rest);
    };
    let found: Float32Array[];
    try {
      found = await gradientOf(gpu, {}, training);
    } finally {
      gpu.dispatch = dispatch;
    }
    const expected = await gradientOf(await gpuOf("dawn"), {}, training);
    assert.deepEqual(
      [...labels].sort(),
      ["attention output", "down", "gate and up", "head", "qkv"].map((one) =>
        `${one} weight gradient`
      ),
    );
    const norm = (values: Float32Array) => Math.sqrt(values.reduce((sum, x) => sum + x * x, 0));
    const all = (parts: Float32Array[]) => Float32Array.from(parts.flatMap((part) => [...part]));
    const [own, other] = [all(found), all(expected)];
    const difference = norm(own.map((x, i) => x - other[i])) / norm(other);
    // Two layers of products whose factors have 11 bits, forwards and backwards: some 2^-11 each, at random.
    assert.ok(difference > 0 && difference < 2 ** -8, `differs by ${difference} of its norm`);
  },
);
