/** Products on matrix units against sums in float64. */

import assert from "node:assert/strict";
import { Gpu } from "../../../src/gpu/gpu.ts";
import { gemm, type GemmLayout, type GemmOptions } from "../../../src/kernels/products/gemm.ts";
import { runnableGemmVariants } from "../../../src/kernels/products/gemm_variants.ts";
import { halfRows } from "../../../src/kernels/products/half_rows.ts";
import { requireSameBits } from "../../../src/kernels/choice/same_bits.ts";
import { randomFloats } from "../harness.ts";
import { repeated, trialNumbers } from "../../../src/kernels/choice/trial_numbers.ts";
import { areStandIns } from "../f32_matrices.ts";
import { onMatrixUnits } from "../on_matrix_units.ts";

/** What is lost of a product's factors, as a share of the product, and that of the sum in f32. */
const lost = {
  "f16": { relative: 2 ** -10, why: "each factor is rounded to 11 bits" },
  "f16-pair": {
    relative: 2 ** -19,
    why: "each factor keeps 21 bits, and the product of two low parts is left out",
  },
  "f32-matrix": { relative: 2 ** -24 * 50, why: "a sum of 400 terms is rounded with each matrix" },
};

/** Sums in float64 of a row-major A with B, and the sums of their terms' magnitudes. */
function expected(
  a: Float32Array,
  b: Float32Array,
  [rows, columns, depth]: readonly number[],
  isTransposed: boolean,
) {
  const sums = new Float64Array(rows * columns), magnitudes = new Float64Array(rows * columns);
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) {
      for (let k = 0; k < depth; k++) {
        const term = a[i * depth + k] * b[isTransposed ? j * depth + k : k * columns + j];
        sums[i * columns + j] += term;
        magnitudes[i * columns + j] += Math.abs(term);
      }
    }
  }
  return { sums, magnitudes };
}

/** The product as the device chooses, or by a variant. */
async function product(
  gpu: Gpu,
  layout: GemmLayout,
  left: Float32Array,
  right: Float32Array,
  [rows, columns, depth]: readonly number[],
  options: GemmOptions = {},
): Promise<Float32Array> {
  using steps = gpu.steps();
  const c = steps.run(() => {
    const a = gpu.from(left, [rows, depth]);
    const b = gpu.from(right, layout === "nt" ? [columns, depth] : [depth, columns]);
    const result = gpu.from(new Float32Array(rows * columns).fill(0.5), [rows, columns]);
    gemm(gpu, layout, a, b, result, options);
    return [result];
  });
  return await gpu.readFloats(c[0]);
}

onMatrixUnits(
  "matrix units: products are the float64 sums within what the factors lose, whatever their size",
  ["f16", "f16-pair", "f32-matrix"],
  async (gpu, precision) => {
    if (areStandIns(gpu)) return;
    for (const layout of ["nt", "nn"] as const) {
      // Few elements are looked through on the way, and those of the last are not.
      for (const shape of [[1, 72, 40], [5, 36, 400], [33, 100, 132], [130, 68, 200]]) {
        const [rows, columns, depth] = shape;
        // As small as gradients and beyond f16's largest number.
        for (const size of [1, 1e-9, 3e5]) {
          // Neighbouring rows need different scales.
          const left = randomFloats(rows * depth, 1, size)
            .map((value, at) => value * 2 ** -(7 * Math.floor(at / depth) % 20));
          // The largest element of a row is among those that its lanes see first.
          for (let row = 0; row < rows; row++) left[row * depth] = 1000 * left[row * depth + 1];
          const right = randomFloats(columns * depth, 2);
          const { sums, magnitudes } = expected(left, right, shape, layout === "nt");
          const found = await product(gpu, layout, left, right, shape);
          const { relative, why } = lost[precision];
          for (const [i, sum] of sums.entries()) {
            const bound = magnitudes[i] * (relative + depth * 2 ** -24);
            assert.ok(
              Math.abs(found[i] - sum) <= bound,
              `${layout} ${shape} of ${size}: element ${i} is ${
                found[i]
              }, expected ${sum} within ${bound} (${why})`,
            );
          }
        }
      }
    }
  },
);

onMatrixUnits(
  "matrix units: products of numbers of few bits are the sums themselves",
  ["f32-matrix"],
  async (gpu) => {
    const ofFewBits = (count: number, seed: number) =>
      randomFloats(count, seed).map((value) => Math.round(value * 127));
    for (const layout of ["nt", "nn"] as const) {
      for (const shape of [[1, 72, 40], [5, 36, 400], [33, 100, 132], [130, 68, 200]]) {
        const [rows, columns, depth] = shape;
        const left = ofFewBits(rows * depth, 1), right = ofFewBits(columns * depth, 2);
        const { sums } = expected(left, right, shape, layout === "nt");
        const found = await product(gpu, layout, left, right, shape);
        assert.deepEqual(found, Float32Array.from(sums), `${layout} ${shape}`);
      }
    }
  },
);

onMatrixUnits(
  "matrix units: products with quantised blocks have the bits of those with the numbers in f32",
  ["f16", "f32-matrix"],
  async (gpu) => {
    const [rows, columns, depth] = [33, 64, 128];
    const left = randomFloats(rows * depth, 1);
    const { stored, values } = trialNumbers(2, "q4k");
    const right = Float32Array.from(
      { length: columns * depth },
      (_, i) => values[i % values.length],
    );
    const expected = await product(gpu, "nt", left, right, [rows, columns, depth]);
    const a = gpu.from(left, [rows, depth]);
    const b = gpu.tensor([columns, depth], "q4k");
    const c = gpu.tensor([rows, columns]);
    gpu.write(b, repeated(stored, b.hostLength));
    gemm(gpu, "nt", a, b, c);
    assert.deepEqual(await gpu.readFloats(c), expected);
    gpu.release(a, b, c);
  },
);

onMatrixUnits(
  "matrix units: all tiles give the same bits, and a row alone those it has among others",
  ["f16", "f16-pair", "f32-matrix"],
  async (gpu, precision) => {
    for (const layout of ["nt", "nn"] as const) {
      const [rows, columns, depth] = [133, 100, 100];
      const left = randomFloats(rows * depth, 3), right = randomFloats(columns * depth, 4);
      const variants = runnableGemmVariants(gpu.tuning, layout);
      assert.ok(variants.length >= 2, `${variants.length} tiles`);
      const first = await product(gpu, layout, left, right, [rows, columns, depth]);
      for (const variant of variants) {
        const found = await product(gpu, layout, left, right, [rows, columns, depth], { variant });
        assert.deepEqual(found, first, variant.name);
      }
      if (precision !== "f32-matrix") {
        const a = gpu.from(left, [rows, depth]);
        const made = halfRows(gpu, a, { rows, first: 0, columns: depth });
        const byLaunch = await product(gpu, layout, left, right, [rows, columns, depth], {
          halfRows: made,
        });
        assert.deepEqual(byLaunch, first);
        gpu.release(a, made.halves, made.scales);
      }
      // A product with few elements looks for its rows' scales itself.
      const row = left.slice(70 * depth, 71 * depth);
      const alone = await product(gpu, layout, row, right, [1, columns, depth]);
      assert.deepEqual(alone, first.slice(70 * columns, 71 * columns));
    }
    await requireSameBits(gpu);
  },
);

onMatrixUnits(
  "matrix units: what lies behind a row's terms, up to a whole vector, counts in no sum",
  ["f16", "f16-pair", "f32-matrix"],
  async (gpu) => {
    // With 98 terms two elements of each row's last vector are none; few rows are scanned, many are made f16 before.
    const [columns, depth, stride] = [36, 98, 100];
    const right = randomFloats(depth * columns, 6);
    for (const rows of [5, 77]) {
      const left = randomFloats(rows * depth, 5);
      const compute = async (behind: number) => {
        const padded = new Float32Array(rows * stride).fill(behind);
        for (let row = 0; row < rows; row++) {
          padded.set(left.subarray(row * depth, (row + 1) * depth), row * stride);
        }
        const a = gpu.from(padded, [rows, stride]);
        const b = gpu.from(right, [depth, columns]), c = gpu.tensor([rows, columns]);
        gemm(gpu, "nn", a, b, c, { depth });
        const found = await gpu.readFloats(c);
        gpu.release(a, b, c);
        return found;
      };
      const { sums, magnitudes } = expected(left, right, [rows, columns, depth], false);
      const first = await compute(0);
      first.forEach((value, i) =>
        assert.ok(Math.abs(value - sums[i]) <= 2 ** -10 * magnitudes[i] + 2 ** -20, `${i}`)
      );
      for (const behind of [1000, NaN]) assert.deepEqual(await compute(behind), first, `${behind}`);
    }
  },
);

onMatrixUnits(
  "matrix units: a scale, and sums that go on from what C holds",
  ["f16-pair"],
  async (gpu) => {
    const shape = [20, 36, 64];
    const left = randomFloats(20 * 64, 5), right = randomFloats(36 * 64, 6);
    // The smallest, which compiles in the shortest time.
    const [variant] = runnableGemmVariants(gpu.tuning, "nt");
    const plain = await product(gpu, "nt", left, right, shape, { variant });
    const scaled = await product(gpu, "nt", left, right, shape, { variant, scale: 0.25 });
    assert.deepEqual(scaled, plain.map((value) => value * 0.25));
    const onwards = await product(gpu, "nt", left, right, shape, { variant, accumulate: true });
    assert.deepEqual(onwards, plain.map((value) => value + 0.5));
  },
);

Deno.test("a precision that takes matrix units is refused where there are none, with what to do", async () => {
  await assert.rejects(
    () => Gpu.open("native", { precision: "f16" }),
    /precision f16 multiplies on matrix units, and the native engine shows none .* --gpu dawn, or precision f32/,
  );
});
