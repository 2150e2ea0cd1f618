import assert from "node:assert/strict";
import {
  stepCredit,
  type StepJudged,
  withStepCredit,
} from "../../../src/rl/advantage/step_credit.ts";

const close = (actual: number | null, expected: number, what: string) =>
  assert.ok(
    actual !== null && Math.abs(actual - expected) < 1e-5,
    `${what}: ${actual}, ${expected}`,
  );

/** Three critiques of a solution of 2 steps, whose own steps are tokens 1-2 and 4-5 of 8. */
const spans = [{ first: 1, last: 2, paid: 1 }, { first: 4, last: 5, paid: 4 }];
const critique = (rewards: number[], rest: Partial<StepJudged> = {}): StepJudged => ({
  group: 0,
  responseLength: 8,
  rewards,
  weights: [1, 1],
  spans,
  ...rest,
});

Deno.test("step credit: a judgment is compared with the group's judgments of the same step", () => {
  const rows = stepCredit([critique([1, 0]), critique([1, 1]), critique([0, 0])], "grpo");
  // Step 0: rewards 1 1 0, mean 2/3, sample deviation sqrt(1/3). Step 1: 0 1 0, mean 1/3, the same deviation.
  const unit = 1 / 3 / Math.sqrt(1 / 3);
  const expected = [[unit, -unit], [unit, 2 * unit], [-2 * unit, -unit]];
  rows.forEach((row, i) => {
    assert.deepEqual([0, 3, 6, 7].map((token) => row[token]), [null, null, null, null]);
    for (const token of [1, 2]) close(row[token], expected[i][0], `critique ${i}, token ${token}`);
    for (const token of [4, 5]) close(row[token], expected[i][1], `critique ${i}, token ${token}`);
  });
});

Deno.test("step credit: where the judgment alone is paid, the work before it gets 0", () => {
  const paid = spans.map((span) => ({ ...span, paid: span.last }));
  const [row] = stepCredit([critique([1, 0], { spans: paid }), critique([0, 0])], "dr_grpo");
  assert.deepEqual(row, [null, 0, 0.5, null, 0, 0, null, null]);
});

Deno.test("step credit: groups are solutions, and the estimator is the run's", () => {
  const rows = stepCredit([
    critique([1, 0]),
    critique([0, 0]),
    critique([1, 1], { group: 1 }),
    critique([0, 1], { group: 1 }),
  ], "dr_grpo");
  assert.deepEqual(rows.map((row) => [row[1], row[4]]), [
    [0.5, 0],
    [-0.5, 0],
    [0.5, 0],
    [-0.5, 0],
  ]);
  const alone = stepCredit([critique([1, 1]), critique([0, 1]), critique([0, 1])], "rloo");
  assert.deepEqual(alone.map((row) => [row[1], row[4]]), [[1, 0], [-0.5, 0], [-0.5, 0]]);
});

Deno.test("step credit: classes weigh, and a critique that judges other steps has failed in all", () => {
  const rows = stepCredit([
    critique([1, 1], { weights: [2, 0.5] }),
    critique([0, 0], { weights: [2, 0.5], spans: null, responseLength: 3 }),
  ], "dr_grpo");
  // Advantages 1/2 and -1/2, weighed 2 and 0.5.
  assert.deepEqual([rows[0][1], rows[0][4]], [1, 0.25]);
  assert.deepEqual(rows[1], [-0.625, -0.625, -0.625]);
  assert.deepEqual(stepCredit([critique([], { spans: null, weights: [] })], "grpo"), [
    new Array(8).fill(null),
  ]);
});

Deno.test("step credit: it has its share in the tokens of steps and none in the others", () => {
  const outcome = [Float32Array.of(1, 1, 1), Float32Array.of(-2, -2, -2)];
  const credit = [[null, 3, null], [0.5, null, -1]];
  assert.deepEqual(withStepCredit(outcome, credit, 0.25), [
    Float32Array.of(1, 1.5, 1),
    Float32Array.of(-1.375, -2, -1.75),
  ]);
});
