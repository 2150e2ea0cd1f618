import assert from "node:assert/strict";
import fc from "fast-check";
import { stepCoefficients, updateStepCounts } from "../../../src/rl/advantage/step_classes.ts";

const solutions = fc.array(fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }), {
  minLength: 1,
  maxLength: 30,
});
const total = (numbers: readonly number[]) => numbers.reduce((sum, one) => sum + one, 0);

Deno.test("step classes: each place has averages of its own, by hand", () => {
  const first = updateStepCounts(null, [[true, false], [true], [false, false]], 0.5);
  assert.deepEqual(first, [{ positive: 2, negative: 1 }, { positive: 0, negative: 2 }]);
  // The second place has nothing new, and the third is there for the first time.
  const second = updateStepCounts(first, [[true]], 0.5);
  assert.deepEqual(second, [{ positive: 1.5, negative: 0.5 }, { positive: 0, negative: 2 }]);
  const third = updateStepCounts(second, [[true, true, false]], 0);
  assert.deepEqual(third[2], { positive: 0, negative: 1 });
});

Deno.test("step classes: at a place both classes weigh the same, whatever the others hold", () => {
  fc.assert(fc.property(solutions, (labels) => {
    const counts = updateStepCounts(null, labels, 0.8);
    const weights = stepCoefficients(counts, labels, "inverse", "average");
    for (const [place, { positive, negative }] of counts.entries()) {
      const at = (isRight: boolean) =>
        total(labels.map((row, i) => row[place] === isRight ? weights[i][place] : 0));
      const fewest = Math.min(positive, negative), all = positive + negative;
      if (fewest === 0) continue;
      // A class below an eighth of its place would weigh more than is allowed.
      if (all / (2 * fewest) <= 4) assert.ok(Math.abs(at(true) - at(false)) < 1e-9);
      else assert.ok(Math.abs(at(positive < negative) - 4 * fewest) < 1e-9);
    }
  }));
});

Deno.test("step classes: without weights each judgment counts 1", () => {
  const labels = [[true, false], [false]];
  const counts = updateStepCounts(null, labels, 0.8);
  assert.deepEqual(stepCoefficients(counts, labels, "none", "average"), [[1, 1], [1]]);
});
