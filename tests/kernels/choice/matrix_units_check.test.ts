import assert from "node:assert/strict";
import {
  faultInProduct,
  faultOnMatrixUnits,
} from "../../../src/kernels/choice/matrix_units_check.ts";
import { faultInRun } from "../../../src/kernels/choice/token_sums_check.ts";
import { randomFloats } from "../harness.ts";
import { areStandIns } from "../f32_matrices.ts";
import { onMatrixUnits } from "../on_matrix_units.ts";

onMatrixUnits(
  "matrix units: those that multiply right have no fault",
  ["f16", "f32-matrix"],
  async (gpu) => {
    const fault = await faultOnMatrixUnits(gpu);
    // What f16 loses of f32 is found.
    if (areStandIns(gpu)) assert.match(fault ?? "", /^a matrix product .* is right/);
    else assert.equal(fault, null);
  },
);

Deno.test("matrix units: an element that rounding does not explain is a fault, and so is one that is no number", () => {
  const [rows, columns, depth] = [37, 136, 320];
  const left = randomFloats(rows * depth, 1), right = randomFloats(columns * depth, 2);
  for (const layout of ["nt", "nn"] as const) {
    const sums = Float32Array.from({ length: rows * columns }, (_, i) => {
      const [row, column] = [Math.floor(i / columns), i % columns];
      let sum = 0;
      for (let k = 0; k < depth; k++) {
        sum += left[row * depth + k] *
          right[layout === "nt" ? column * depth + k : k * columns + column];
      }
      return sum;
    });
    const fault = (found: Float32Array) => faultInProduct(layout, left, right, found, "f16");
    assert.equal(fault(sums), null);
    // A sum of 320 terms of mean magnitude 1/4 may be off by 0.08; one that lacks a term of 1/4 is not right.
    const wrong = sums.slice();
    wrong[5 * columns + 7] += 0.25;
    assert.match(
      fault(wrong) ?? "",
      new RegExp(`^a matrix product \\(${layout}\\) has .* is right$`),
    );
    wrong[5 * columns + 7] = NaN;
    assert.match(fault(wrong) ?? "", /has NaN where/);
  }
});

Deno.test("matrix units: a sum over tokens that lacks a token is a fault", () => {
  const tokens = 9, rows = 44, columns = 136;
  const a = randomFloats(tokens * rows, 3), b = randomFloats(tokens * columns, 4);
  const sums = Float32Array.from({ length: rows * columns }, (_, i) => {
    const [row, column] = [Math.floor(i / columns), i % columns];
    let sum = 0;
    for (let t = 0; t < tokens; t++) sum += a[t * rows + row] * b[t * columns + column];
    return sum;
  });
  assert.equal(faultInRun({ tokens, a, b }, sums), null);
  const place = 7 * columns + 3;
  sums[place] -= a[8 * rows + 7] * b[8 * columns + 3];
  assert.match(
    faultInRun({ tokens, a, b }, sums) ?? "",
    /^a gradient summed over tokens has .* is right$/,
  );
  sums[place] = NaN;
  assert.match(faultInRun({ tokens, a, b }, sums) ?? "", /has NaN where/);
});
