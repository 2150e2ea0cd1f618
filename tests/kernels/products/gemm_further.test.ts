/** Products whose sums go on with an adapter's terms, against sums in float64 and against two products. */

import assert from "node:assert/strict";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import type { Tensor } from "../../../src/gpu/tensor.ts";
import { swigluForward } from "../../../src/kernels/layers/swiglu.ts";
import { gemm, type GemmOptions } from "../../../src/kernels/products/gemm.ts";
import {
  type GemmVariant,
  runnableGemmVariants,
} from "../../../src/kernels/products/gemm_variants.ts";
import { assertClose, onEveryGpu, randomFloats } from "../harness.ts";
import { areStandIns } from "../f32_matrices.ts";
import { onMatrixUnits } from "../on_matrix_units.ts";

const rank = 8, depth = 52;

/** Projections of a product of 68 columns: its first and last columns and all between 28 and 40 have no terms. */
const scattered = [
  { firstColumn: 4, columns: 24, firstRow: 0 },
  { firstColumn: 40, columns: 8, firstRow: 32 },
  { firstColumn: 48, columns: 16, firstRow: 40 },
];

interface Case {
  readonly rows: number;
  readonly columns: number;
  readonly projections: typeof scattered;
  readonly isBiased?: boolean;
}

function numbersOf({ rows, columns, projections, isBiased }: Case) {
  const rowsOfFurther = Math.max(...projections.map((one) => one.firstRow + one.columns));
  return {
    a: randomFloats(rows * depth, 1),
    b: randomFloats(columns * depth, 2),
    inner: randomFloats(rows * projections.length * rank, 3),
    // Rows between the projections belong to none.
    further: randomFloats(rowsOfFurther * rank, 4),
    bias: isBiased ? randomFloats(columns, 5) : null,
    residual: isBiased ? randomFloats(rows * columns, 6) : null,
  };
}

/** The tensors of a case on a device; released by the scope that it is called in. */
function tensorsOf(gpu: Gpu, one: Case) {
  const { a, b, inner, further, bias, residual } = numbersOf(one);
  const { rows, columns, projections } = one;
  return {
    a: gpu.from(a, [rows, depth]),
    b: gpu.from(b, [columns, depth]),
    c: gpu.from(new Float32Array(rows * columns).fill(NaN), [rows, columns]),
    inner: gpu.from(inner, [rows, projections.length * rank]),
    further: gpu.from(further, [further.length / rank, rank]),
    extra: {
      ...(bias && { bias: gpu.from(bias, [columns]) }),
      ...(residual && { residual: gpu.from(residual, [rows, columns]) }),
    },
  };
}

async function read(gpu: Gpu, make: () => Tensor): Promise<Float32Array> {
  using steps = gpu.steps();
  const [made] = steps.run(() => [make()]);
  return await gpu.readFloats(made);
}

function joined(gpu: Gpu, one: Case, variant: GemmVariant): Promise<Float32Array> {
  return read(gpu, () => {
    const { a, b, c, inner, further, extra } = tensorsOf(gpu, one);
    const terms = { inner, further, projections: one.projections };
    gemm(gpu, "nt", a, b, c, { ...extra, further: terms, variant, label: variant.name });
    return c;
  });
}

/** The adapter's products into the columns of what the first product left. */
function furtherProducts(
  gpu: Gpu,
  { projections }: Case,
  { inner, further, c }: ReturnType<typeof tensorsOf>,
): void {
  projections.forEach(({ firstColumn, columns, firstRow }, n) => {
    const whole = gpu.tensor([columns, rank]);
    gpu.copy(further.view(firstRow * rank, [columns, rank]), whole);
    const options: GemmOptions = { accumulate: true, depth: rank, firstColumnOfA: n * rank };
    gemm(gpu, "nt", inner, whole, c, { ...options, firstColumn });
  });
}

function apart(gpu: Gpu, one: Case): Promise<Float32Array> {
  return read(gpu, () => {
    const tensors = tensorsOf(gpu, one);
    const { a, b, c, extra } = tensors;
    gemm(gpu, "nt", a, b, c, extra);
    furtherProducts(gpu, one, tensors);
    return c;
  });
}

/** Sums in float64, as shares of what rounding may make of them. */
function check(one: Case, actual: Float32Array, lost: number): void {
  const { a, b, inner, further, bias, residual } = numbersOf(one);
  const { rows, columns, projections } = one;
  const errors = new Float64Array(rows * columns);
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) {
      const at = i * columns + j;
      const terms = [bias?.[j] ?? 0, residual?.[at] ?? 0];
      for (let k = 0; k < depth; k++) terms.push(a[i * depth + k] * b[j * depth + k]);
      projections.forEach(({ firstColumn, columns: width, firstRow }, n) => {
        if (j < firstColumn || j >= firstColumn + width) return;
        for (let k = 0; k < rank; k++) {
          const left = inner[(i * projections.length + n) * rank + k];
          terms.push(left * further[(firstRow + j - firstColumn) * rank + k]);
        }
      });
      const sum = terms.reduce((total, term) => total + term, 0);
      const magnitude = terms.reduce((total, term) => total + Math.abs(term), 0);
      errors[at] = (actual[at] - sum) / (lost * magnitude);
    }
  }
  assertClose(errors, new Float64Array(errors.length), {
    absolute: 1,
    relative: 0,
    why: "roundings of the terms add up like a random walk: 4 √terms half-ulps of their magnitudes",
  });
}

const roundings = 4 * Math.sqrt(depth + rank + 3) * 2 ** -24;

/** All kernels of lanes, and one tile of each kind on a GPU's. */
function variantsOf(gpu: Gpu): GemmVariant[] {
  const variants = runnableGemmVariants(gpu.tuning, "nt");
  const tiles = variants.filter(({ sharing }) => sharing === "tiled");
  const others = variants.filter(({ name }) =>
    /uniform, (1|4|8)x32|uniform, 24x64|streamed/.test(name)
  );
  const chosen = [...others, tiles[0], tiles[tiles.length - 1]];
  assert.deepEqual(
    [...new Set(chosen.map(({ sharing }) => sharing))].sort(),
    ["streamed", "tiled", "uniform"],
  );
  return chosen;
}

for (const isBiased of [false, true]) {
  onEveryGpu(
    `gemm goes on with an adapter's terms${isBiased ? " after bias and residual" : ""}`,
    async (gpu) => {
      for (const rows of isBiased ? [5] : [1, 37]) {
        const one = { rows, columns: 68, projections: scattered, isBiased };
        // The bits of the products one after the other, whose sums go on from what C holds.
        const expected = await apart(gpu, one);
        check(one, expected, roundings);
        for (const variant of variantsOf(gpu)) {
          assert.deepEqual(await joined(gpu, one, variant), expected, `${rows} ${variant.name}`);
        }
      }
    },
  );
}

onEveryGpu("gemm of gate and up goes on with both projections' terms", async (gpu) => {
  const one = {
    rows: 5,
    columns: 72,
    projections: [
      { firstColumn: 0, columns: 36, firstRow: 0 },
      { firstColumn: 36, columns: 36, firstRow: 40 },
    ],
  };
  const gateUp = await apart(gpu, one);
  const expected = await read(gpu, () => {
    const output = gpu.tensor([5, 36]);
    swigluForward(gpu, gpu.from(gateUp, [5, 72]), output);
    return output;
  });
  for (const variant of variantsOf(gpu)) {
    const kept = gpu.tensor([5, 72]);
    const found = await read(gpu, () => {
      const { a, b, inner, further } = tensorsOf(gpu, one);
      const c = gpu.tensor([5, 36]);
      const terms = { inner, further, projections: one.projections };
      gemm(gpu, "nt", a, b, c, { gated: { kept }, further: terms, variant });
      return c;
    });
    assert.deepEqual(found, expected, variant.name);
    assert.deepEqual(await gpu.readFloats(kept), gateUp, variant.name);
    gpu.release(kept);
  }
});

onMatrixUnits(
  "matrix units: a product goes on with an adapter's terms in f32",
  ["f16", "f16-pair", "f32-matrix"],
  async (gpu, precision) => {
    const one = { rows: 37, columns: 68, projections: scattered, isBiased: true };
    const [first, ...others] = runnableGemmVariants(gpu.tuning, "nt");
    const expected = await joined(gpu, one, first);
    // Each factor is rounded to 11 bits, or keeps 21, of which the product of two low parts is left out, or all 24.
    const lost = precision === "f16-pair"
      ? 2 ** -19
      : precision === "f16" || areStandIns(gpu)
      ? 2 ** -10
      : 0;
    check(one, expected, roundings + lost);
    for (const variant of others.slice(0, 1)) {
      assert.deepEqual(await joined(gpu, one, variant), expected, variant.name);
    }
  },
);

onEveryGpu("gemm refuses further terms that do not fit", (gpu) => {
  gpu.scope(() => {
    const { a, b, c, inner, further } = tensorsOf(gpu, {
      rows: 4,
      columns: 68,
      projections: scattered,
    });
    const wrong = (projections: typeof scattered, options: GemmOptions = {}) => () =>
      gemm(gpu, "nt", a, b, c, { ...options, further: { inner, further, projections } });
    assert.throws(wrong(scattered.slice(1)), /inner is f32 \[4,24\]/);
    const beyond = { firstColumn: 60, columns: 16, firstRow: 0 };
    assert.throws(wrong([...scattered.slice(1), beyond]), /further terms \[56,8\] do not fit/);
    const below = { firstColumn: 0, columns: 16, firstRow: 44 };
    assert.throws(wrong([...scattered.slice(1), below]), /do not fit/);
    assert.throws(wrong(scattered, { accumulate: true }), /do not fit/);
  });
  return Promise.resolve();
});
