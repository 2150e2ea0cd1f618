import assert from "node:assert/strict";
import { studentT } from "../../src/base/student_t.ts";

Deno.test("studentT: as scipy.stats.t.ppf, to 12 digits", () => {
  // scipy.stats.t.ppf((1 + level) / 2, freedom); the half-angle is found to the last bit of a double.
  for (
    const [level, freedom, expected] of [
      [0.95, 1, 12.706204736174694],
      [0.95, 2, 4.302652729749462],
      [0.95, 3, 3.1824463052837078],
      [0.95, 5, 2.5705818356363146],
      [0.95, 11, 2.200985160091639],
      [0.95, 23, 2.0686576104190486],
      [0.95, 120, 1.9799304050824402],
      [0.9, 4, 2.1318467863266495],
      [0.99, 7, 3.4994832973504924],
    ]
  ) {
    const found = studentT(level, freedom);
    assert.ok(Math.abs(found - expected) <= 1e-12 * expected, `${level}, ${freedom}: ${found}`);
  }
});

Deno.test("studentT: of no whole degrees of freedom, or no level, there is none", () => {
  for (const [level, freedom] of [[0.95, 0], [0.95, 1.5], [0, 3], [1, 3], [NaN, 3]]) {
    assert.throws(() => studentT(level, freedom), /degrees of freedom/);
  }
});
