import assert from "node:assert/strict";
import {
  faultInProduct,
  faultOnMatrixUnits,
} from "../../../src/kernels/choice/matrix_units_check.ts";
import { randomFloats } from "../harness.ts";
import { onMatrixUnits } from "../on_matrix_units.ts";

onMatrixUnits("matrix units: those that multiply right have no fault", ["f16"], async (gpu) => {
  assert.equal(await faultOnMatrixUnits(gpu), null);
});

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
    const fault = (found: Float32Array) => faultInProduct(layout, left, right, found);
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
