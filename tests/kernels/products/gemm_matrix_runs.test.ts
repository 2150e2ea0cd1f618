/** Sums over tokens on matrix units: against float64, and the same bits however a batch is cut. */

import assert from "node:assert/strict";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import { gemm } from "../../../src/kernels/products/gemm.ts";
import { runsVariants } from "../../../src/kernels/products/gemm_variants.ts";
import { slabTerms } from "../../../src/kernels/products/half_rows.ts";
import { largestOfRuns, tokenRuns } from "../../../src/kernels/products/token_runs.ts";
import { weightGradient } from "../../../src/kernels/products/weight_gradient.ts";
import { randomFloats } from "../harness.ts";
import { onMatrixUnits } from "../on_matrix_units.ts";

/** Tokens of each run: less than a block, one more than a slab, and exactly one. */
const lengths = [3, 33, 1, 64, 20, 8, 11];
const starts = lengths.map((_, run) => lengths.slice(0, run).reduce((sum, n) => sum + n, 0));
const tokens = lengths.reduce((sum, n) => sum + n, 0);

/** Rows and columns of C that no tile divides. */
const O = 76, I = 100;

/** What each run's numbers are multiplied by: gradients and activations of sizes of their own. */
const sizesOfA = [1e-9, 3, 1e-4, 2 ** -35, 1e4, 1e-6, 0.3];
const sizesOfB = [1, 1e5, 1e-3, 30, 1, 1e-5, 70];

/** Rows of a matrix, each run by its size. */
function ofRuns(columns: number, sizes: readonly number[], seed: number): Float32Array {
  const values = randomFloats(tokens * columns, seed);
  starts.forEach((start, run) => {
    for (let i = start * columns; i < (start + lengths[run]) * columns; i++) {
      values[i] *= sizes[run];
    }
  });
  return values;
}

/** Adds the runs from one on and up to another to C, each launch some of them. */
function add(
  gpu: Gpu,
  [a, b]: readonly [Float32Array, Float32Array],
  c: Float32Array,
  launches: readonly (readonly number[])[],
): Promise<Float32Array> {
  using steps = gpu.steps();
  const [gradient] = steps.run(() => {
    const gradient = gpu.from(c, [O, I]);
    for (const chosen of launches) {
      const rows = chosen.flatMap((run) =>
        Array.from({ length: lengths[run] }, (_, i) => starts[run] + i)
      );
      const pick = (values: Float32Array, columns: number) =>
        Float32Array.from(
          rows.flatMap((row) => [...values.subarray(row * columns, (row + 1) * columns)]),
        );
      const own = chosen.map((_, place) =>
        chosen.slice(0, place).reduce((sum, run) => sum + lengths[run], 0)
      );
      const runs = tokenRuns(gpu, own, rows.length);
      assert.ok(runs);
      const dy = gpu.from(pick(a, O), [rows.length, O]);
      const x = gpu.from(pick(b, I), [rows.length, I]);
      weightGradient(gpu, "test", { dy, x, runs }, gradient);
    }
    return [gradient];
  });
  return gpu.readFloats(gradient);
}

onMatrixUnits(
  "matrix units: sums over tokens are the float64 sums within what the factors lose, whatever the size of each run",
  ["f16"],
  async (gpu) => {
    // Runs by themselves: in one sum the largest would hide the others.
    for (const [run, length] of lengths.entries()) {
      const a = ofRuns(O, sizesOfA, 1), b = ofRuns(I, sizesOfB, 2);
      const found = await add(gpu, [a, b], new Float32Array(O * I), [[run]]);
      for (let o = 0; o < O; o++) {
        for (let i = 0; i < I; i++) {
          let sum = 0, magnitude = 0;
          for (let t = starts[run]; t < starts[run] + length; t++) {
            const term = a[t * O + o] * b[t * I + i];
            sum += term;
            magnitude += Math.abs(term);
          }
          // Each factor is rounded to 11 bits, or to 2^-40 of the largest of its run where that is more, and a sum in
          // f32 with each term.
          const bound = magnitude * (2 ** -10 + length * 2 ** -24) +
            length * 2 ** -38 * sizesOfA[run] * sizesOfB[run];
          assert.ok(
            Math.abs(found[o * I + i] - sum) <= bound,
            `run ${run}, element ${o}, ${i} is ${
              found[o * I + i]
            }, expected ${sum} within ${bound}`,
          );
        }
      }
    }
  },
);

onMatrixUnits(
  "matrix units: sums over tokens have the same bits in one launch or several, and without runs of zeros",
  ["f16"],
  async (gpu) => {
    const a = ofRuns(O, sizesOfA.map((size, run) => run === 3 ? 0 : size), 3);
    const b = ofRuns(I, sizesOfB, 4);
    const before = randomFloats(O * I, 5);
    const whole = await add(gpu, [a, b], before, [[0, 1, 2, 3, 4, 5, 6]]);
    assert.notDeepEqual(whole, before);
    for (
      const launches of [
        [[0], [1], [2], [3], [4], [5], [6]],
        [[0, 1, 2], [3, 4], [5, 6]],
        [[0, 1, 2, 4, 5, 6]],
      ]
    ) {
      const found = await add(gpu, [a, b], before, launches);
      assert.deepEqual(new Uint32Array(found.buffer), new Uint32Array(whole.buffer), `${launches}`);
    }
  },
);

onMatrixUnits(
  "matrix units: a matrix instruction takes tokens of one run alone, and each token once",
  ["f16"],
  async (gpu) => {
    for (const wrong of [[1], [0, 9, 5], [0, tokens + 1], []]) {
      assert.throws(() => tokenRuns(gpu, wrong, tokens), /runs of 140 rows begin at/);
    }
    using steps = gpu.steps();
    const runs = steps.run(() => {
      const made = tokenRuns(gpu, [...starts, tokens], tokens);
      assert.ok(made);
      return [made.slabs, made.runOfRow];
    });
    const [slabs, runOfRow] = await gpu.readAll(runs) as Uint32Array[];
    let next = 0;
    for (let s = 0; s < slabs.length; s += 4) {
      const [first, count, run] = slabs.subarray(s, s + 3);
      assert.equal(first, next);
      assert.ok(count > 0 && count <= slabTerms(gpu.tuning));
      // A slab begins with its run, or a whole number of slabs after its beginning.
      assert.equal((first - starts[run]) % slabTerms(gpu.tuning), 0);
      assert.ok(first + count <= starts[run] + lengths[run]);
      for (let row = first; row < first + count; row++) assert.equal(runOfRow[row], run);
      next += count;
    }
    assert.equal(next, tokens);
  },
);

onMatrixUnits(
  "matrix units: runs of the smallest numbers beside others add nothing wrong, and one beyond f16 makes the sum not finite",
  ["f16"],
  async (gpu) => {
    const before = randomFloats(O * I, 8);
    const with3 = (ofA: number, ofB: number) =>
      [
        ofRuns(O, sizesOfA.map((size, run) => run === 3 ? ofA : size), 9),
        ofRuns(I, sizesOfB.map((size, run) => run === 3 ? ofB : size), 10),
      ] as const;
    const runs = [0, 1, 2, 3, 4, 5, 6];
    const without = await add(gpu, with3(0, 1), before, [runs.filter((run) => run !== 3)]);
    assert.deepEqual(await add(gpu, with3(0, 1e20), before, [runs]), without);
    assert.deepEqual(await add(gpu, with3(0, NaN), before, [runs]), without);
    for (const [ofA, ofB] of [[1e-30, 1e-12], [1e-37, 1e-37], [1e-20, 1]]) {
      // Terms far below the last digit of what is there.
      const found = await add(gpu, with3(ofA, ofB), before, [runs]);
      assert.deepEqual(found, without, `${ofA}, ${ofB}`);
    }
    for (const [ofA, ofB] of [[1e20, 1e-3], [1e-3, 1e12], [NaN, 1], [1, Infinity]]) {
      const found = await add(gpu, with3(ofA, ofB), before, [runs]);
      assert.ok(!found.some(Number.isFinite), `${ofA}, ${ofB}`);
    }
  },
);

onMatrixUnits(
  "matrix units: all tiles sum over tokens with the same bits, and a part of C alone",
  ["f16"],
  async (gpu) => {
    const variants = runsVariants(gpu.tuning, O, I);
    assert.ok(variants.length >= 2, `${variants.length} tiles`);
    const of = async (variant: (typeof variants)[number], first: number) => {
      using steps = gpu.steps();
      const [c] = steps.run(() => {
        const runs = tokenRuns(gpu, starts, tokens);
        assert.ok(runs);
        const a = gpu.from(ofRuns(O, sizesOfA, 6), [tokens, O]);
        const b = gpu.from(ofRuns(I, sizesOfB, 7), [tokens, I]);
        const c = gpu.zeros([O - first, I]);
        const [largestA, largestB] = [a, b].map((x) => largestOfRuns(gpu, runs, [x]));
        gemm(gpu, "tn", a, b, c, {
          variant,
          accumulate: true,
          firstColumnOfA: first,
          runs: { runs, largestA, largestB, headroom: 0 },
        });
        return [c];
      });
      return await gpu.readFloats(c);
    };
    const expected = await of(variants[0], 0);
    for (const variant of variants) {
      assert.deepEqual(await of(variant, 0), expected, variant.name);
    }
    // As where a product is too long for one launch.
    assert.deepEqual(await of(variants[0], 12), expected.subarray(12 * I));
  },
);
