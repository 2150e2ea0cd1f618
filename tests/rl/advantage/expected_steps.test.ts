import assert from "node:assert/strict";
import { expectedSteps } from "../../../src/rl/advantage/expected_steps.ts";

const solutions = (group: number, right: number[], wrong: number[]) => [
  ...right.map((stepCount) => ({ group, isCorrect: true, stepCount })),
  ...wrong.map((stepCount) => ({ group, isCorrect: false, stepCount })),
];

Deno.test("expected steps: the median of the right solutions, or of all when none is right", () => {
  const expected = (right: number[], wrong: number[]) =>
    expectedSteps(solutions(0, right, wrong))[0];
  assert.equal(expected([4, 4, 12], [1, 1, 1, 1]), 4);
  assert.equal(expected([2, 5], []), 5);
  assert.equal(expected([3], [9, 9]), 3);
  assert.equal(expected([], [10, 9, 2]), 9);
  assert.equal(expected([], [0, 0, 3]), 0);
});

Deno.test("expected steps: of each group by itself", () => {
  const both = [...solutions(0, [4], [1]), ...solutions(1, [], [2, 2])];
  assert.deepEqual(expectedSteps(both), [4, 4, 2, 2]);
});
