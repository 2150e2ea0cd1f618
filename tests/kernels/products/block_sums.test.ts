/** Sums over tokens, block by block, against sums in float64. */

import assert from "node:assert/strict";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import { addTokenSums } from "../../../src/kernels/products/block_sums.ts";
import { tokenRuns } from "../../../src/kernels/products/token_runs.ts";
import { randomFloats } from "../harness.ts";
import { onMatrixUnits } from "../on_matrix_units.ts";

/** Rows and columns of C, where they begin in A and B, and those widths: narrow either way, on both sides, and odd. */
const shapes = [
  { rows: 68, columns: 16, widthA: 76, firstA: 4, widthB: 48, firstB: 16 },
  { rows: 8, columns: 132, widthA: 8, firstA: 0, widthB: 132, firstB: 0 },
  { rows: 48, columns: 36, widthA: 48, firstA: 0, widthB: 36, firstB: 0 },
  { rows: 30, columns: 4, widthA: 40, firstA: 8, widthB: 4, firstB: 0 },
] as const;

/** More than one block of the third run, and more blocks than are summed at a time. */
const starts = [0, 1, 3, 300, 310, 311, 330, 350, 516], tokens = 520;

async function summed(
  gpu: Gpu,
  { rows, columns, widthA, firstA, widthB, firstB }: typeof shapes[number],
  { first = 0, count = tokens, start }: {
    readonly first?: number;
    readonly count?: number;
    readonly start: Float32Array;
  },
): Promise<Float32Array> {
  using steps = gpu.steps();
  const [c] = steps.run(() => {
    const part = (width: number, seed: number) =>
      gpu.from(
        randomFloats(tokens * width, seed).subarray(first * width, (first + count) * width),
        [count, width],
      );
    const own = starts.filter((one) => one >= first && one < first + count);
    const runs = tokenRuns(gpu, own.map((one) => one - first), count);
    assert.ok(runs);
    const c = gpu.from(start, [rows, columns]);
    const places = { firstColumnOfA: firstA, firstColumnOfB: firstB };
    addTokenSums(gpu, "sums", { a: part(widthA, 1), b: part(widthB, 2), ...places }, runs, c);
    return [c];
  });
  return await gpu.readFloats(c);
}

onMatrixUnits(
  "sums of blocks of tokens are the float64 sums, added to what is there",
  ["f16"],
  async (gpu) => {
    for (const shape of shapes) {
      const { rows, columns, widthA, firstA, widthB, firstB } = shape;
      const a = randomFloats(tokens * widthA, 1), b = randomFloats(tokens * widthB, 2);
      const start = randomFloats(rows * columns, 3);
      const found = await summed(gpu, shape, { start });
      for (let at = 0; at < found.length; at++) {
        const [i, j] = [Math.floor(at / columns), at % columns];
        let sum = start[at], magnitudes = Math.abs(sum);
        for (let t = 0; t < tokens; t++) {
          const term = a[t * widthA + firstA + i] * b[t * widthB + firstB + j];
          sum += term;
          magnitudes += Math.abs(term);
        }
        // A rounding for each term of a block of 256 at most, and for each of the ten blocks.
        const bound = 266 * 2 ** -24 * magnitudes;
        assert.ok(
          Math.abs(found[at] - sum) <= bound,
          `C[${i}, ${j}] is ${found[at]}, expected ${sum}`,
        );
      }
    }
  },
);

onMatrixUnits("sums of blocks of tokens have the same bits for runs in one launch and in several", [
  "f16",
], async (gpu) => {
  for (const shape of shapes) {
    const start = randomFloats(shape.rows * shape.columns, 3);
    const whole = await summed(gpu, shape, { start });
    const early = await summed(gpu, shape, { start, count: 516 });
    assert.deepEqual(await summed(gpu, shape, { start: early, first: 516, count: 4 }), whole);
  }
});

onMatrixUnits(
  "sums of blocks of tokens take as much memory for many runs as for few",
  ["f16"],
  (gpu) => {
    const peaks = [[0], [0, 100, 450], Array.from({ length: 130 }, (_, i) => 4 * i)].map(
      (begin) => {
        const before = gpu.pool.liveBytes;
        gpu.scope(() => {
          const runs = tokenRuns(gpu, begin, tokens);
          assert.ok(runs);
          const a = gpu.tensor([tokens, 1024]), b = gpu.tensor([tokens, 16]);
          addTokenSums(gpu, "sums", { a, b }, runs, gpu.tensor([1024, 16]));
        });
        const peak = gpu.pool.peakBytes - before;
        gpu.pool.peakBytes = gpu.pool.liveBytes;
        return peak;
      },
    );
    // But for what says where runs are.
    const difference = Math.max(...peaks) - Math.min(...peaks);
    assert.ok(difference <= 16 * tokens, `${peaks}`);
    return Promise.resolve();
  },
);

onMatrixUnits("sums of blocks of tokens are refused where shapes do not fit", ["f16"], (gpu) => {
  gpu.scope(() => {
    const runs = tokenRuns(gpu, [0], 8);
    assert.ok(runs);
    const a = gpu.tensor([8, 16]), b = gpu.tensor([8, 12]), c = gpu.tensor([16, 8]);
    const wrong = (places: Parameters<typeof addTokenSums>[2]) => () =>
      addTokenSums(gpu, "sums", places, runs, c);
    assert.throws(wrong({ a, b, firstColumnOfA: 4 }), /sums: A .* do not fit/);
    assert.throws(wrong({ a, b, firstColumnOfB: 8 }), /do not fit/);
    assert.throws(wrong({ a: gpu.tensor([7, 16]), b }), /sums/);
  });
  return Promise.resolve();
});
