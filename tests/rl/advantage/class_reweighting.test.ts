import assert from "node:assert/strict";
import fc from "fast-check";
import {
  classCoefficients,
  updateClassCounts,
} from "../../../src/rl/advantage/class_reweighting.ts";

const labels = (positive: number, negative: number) => [
  ...new Array<boolean>(positive).fill(true),
  ...new Array<boolean>(negative).fill(false),
];

Deno.test("counts start from the first batch and then move by 1 - decay", () => {
  const first = updateClassCounts(null, labels(8, 2), 0.8);
  assert.deepEqual(first, { positive: 8, negative: 2 });
  const second = updateClassCounts(first, labels(3, 7), 0.8);
  assert.ok(Math.abs(second.positive - 7) < 1e-12 && Math.abs(second.negative - 3) < 1e-12);
  assert.deepEqual(JSON.parse(JSON.stringify(second)), second);
  assert.throws(() => updateClassCounts(null, labels(1, 1), 1), /class count decay: found 1/);
});

Deno.test("sqrt_inverse and inverse weights by hand", () => {
  const counts = { positive: 4, negative: 1 };
  // Weights 1/2 (four times) and 1: sum 3, so scaled by 5/3.
  const sqrt = classCoefficients(counts, labels(4, 1), "sqrt_inverse");
  assert.ok(Math.abs(sqrt.positive - 5 / 6) < 1e-12 && Math.abs(sqrt.negative - 5 / 3) < 1e-12);
  // Weights 1/4 (four times) and 1: sum 2, so scaled by 5/2.
  const inverse = classCoefficients(counts, labels(4, 1), "inverse");
  assert.deepEqual(inverse.perSample, [0.625, 0.625, 0.625, 0.625, 2.5]);
  assert.deepEqual(classCoefficients(counts, labels(1, 1), "none").perSample, [1, 1]);
});

Deno.test("a class never seen weighs nothing and breaks nothing", () => {
  const result = classCoefficients({ positive: 5, negative: 0 }, labels(5, 0), "sqrt_inverse");
  result.perSample.forEach((weight) => assert.ok(Math.abs(weight - 1) < 1e-12));
  assert.equal(result.negative, 0);
});

Deno.test("property: the batch mean is 1 and the rarer class weighs more", () => {
  const batches = fc.array(fc.array(fc.boolean(), { minLength: 1, maxLength: 20 }), {
    minLength: 1,
    maxLength: 6,
  });
  fc.assert(fc.property(batches, (all) => {
    let counts = null;
    for (const batch of all) {
      counts = updateClassCounts(counts, batch, 0.8);
      for (const method of ["inverse", "sqrt_inverse", "none"] as const) {
        const { perSample, positive, negative } = classCoefficients(counts, batch, method);
        const mean = perSample.reduce((sum, weight) => sum + weight, 0) / batch.length;
        assert.ok(Math.abs(mean - 1) < 1e-9);
        if (method !== "none" && counts.positive > counts.negative + 1e-9 && counts.negative > 0) {
          assert.ok(positive < negative);
        }
      }
    }
  }));
});
