import assert from "node:assert/strict";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import { columnSum, type ColumnSumVariant } from "../../../src/kernels/layers/column_sum.ts";
import { assertClose, onEveryGpu, randomFloats } from "../harness.ts";

const variants: readonly ColumnSumVariant[] = ["direct", "staged"];

/** Rows [rows, columns] with what they are multiplied by, if anything. */
interface Case {
  readonly rows: number;
  readonly columns: number;
  readonly dy: Float32Array;
  readonly factors: { readonly x: Float32Array; readonly rstd: Float32Array } | null;
  /** What the sums continue from. */
  readonly start: Float32Array;
}

function randomCase(rows: number, columns: number, norm: boolean): Case {
  const seed = rows + columns;
  const factors = { x: randomFloats(rows * columns, seed), rstd: randomFloats(rows, seed + 1) };
  return {
    rows,
    columns,
    dy: randomFloats(rows * columns, seed + 2),
    factors: norm ? factors : null,
    start: randomFloats(columns, seed + 3),
  };
}

async function run(
  gpu: Gpu,
  { rows, columns, dy, factors, start }: Case,
  variant: ColumnSumVariant,
): Promise<Float32Array> {
  const tensors = [gpu.from(dy, [rows, columns]), gpu.from(start, [columns])];
  const norm = factors &&
    { x: gpu.from(factors.x, [rows, columns]), rstd: gpu.from(factors.rstd, [rows]) };
  columnSum(gpu, "column sum", tensors[0], tensors[1], norm, variant);
  const sums = await gpu.readFloats(tensors[1]);
  gpu.release(...tensors, ...(norm ? [norm.x, norm.rstd] : []));
  return sums;
}

function reference({ rows, columns, dy, factors, start }: Case) {
  const sums = Float64Array.from(start);
  for (let t = 0; t < rows; t++) {
    for (let j = 0; j < columns; j++) {
      const at = t * columns + j;
      sums[j] += dy[at] * (factors ? factors.x[at] * factors.rstd[t] : 1);
    }
  }
  return sums;
}

onEveryGpu("column sums are right, with the same bits in both variants", async (gpu) => {
  for (const norm of [false, true]) {
    for (const [rows, columns] of [[1, 4], [9, 20], [128, 16], [300, 68]]) {
      const data = randomCase(rows, columns, norm);
      const [direct, staged] = [
        await run(gpu, data, "direct"),
        await run(gpu, data, "staged"),
      ];
      assertClose(direct, reference(data), {
        absolute: 4 * Math.sqrt(rows + 1) * 2 ** -24 * Math.sqrt(rows + 1),
        relative: 0,
        why: "roundings of terms below 1 add up like a random walk, on sums that do too",
      });
      assert.deepEqual(staged, direct);
    }
  }
});

onEveryGpu("column sums have the same bits however the rows are cut", async (gpu) => {
  const whole = randomCase(300, 20, true);
  for (const variant of variants) {
    const expected = await run(gpu, whole, variant);
    for (const cut of [1, 128, 200]) {
      let { start } = whole;
      for (const [first, end] of [[0, cut], [cut, 300]]) {
        const { dy, factors } = whole;
        const part = (data: Float32Array, width: number) => data.slice(first * width, end * width);
        start = await run(gpu, {
          ...whole,
          rows: end - first,
          dy: part(dy, 20),
          factors: factors && { x: part(factors.x, 20), rstd: part(factors.rstd, 1) },
          start,
        }, variant);
      }
      assert.deepEqual(start, expected);
    }
  }
});

onEveryGpu("what lies beyond the last row does not change a zero's sign", async (gpu) => {
  const zeros = { ...randomCase(3, 4, true), dy: new Float32Array(12).fill(-0) };
  const start = new Float32Array(4).fill(-0);
  const ones = { x: new Float32Array(12).fill(1), rstd: new Float32Array(3).fill(1) };
  for (const factors of [null, ones]) {
    for (const variant of variants) {
      const sums = await run(gpu, { ...zeros, factors, start }, variant);
      assert.ok(sums.every((sum) => Object.is(sum, -0)), variant);
    }
  }
});
