import assert from "node:assert/strict";
import { type Verification, verifierMetrics } from "../../../src/rl/measures/verifier_metrics.ts";

function verification(
  verdict: boolean | null,
  solutionIsCorrect: boolean,
  rest: Partial<Verification> = {},
): Verification {
  return { verdict, solutionIsCorrect, stepJudgments: [], stepCount: 0, ...rest };
}

const close = (actual: number | null, expected: number) =>
  assert.ok(actual !== null && Math.abs(actual - expected) < 1e-12, `${actual} is not ${expected}`);

Deno.test("the confusion matrix by hand, unread verdicts counted as wrong", () => {
  const metrics = verifierMetrics([
    verification(true, true),
    verification(true, true),
    verification(true, true),
    verification(null, true),
    verification(false, false),
    verification(true, false),
    verification(null, false),
    verification(false, false),
  ]);
  // 3 true positives, 1 false negative, 2 true negatives, 2 false positives.
  close(metrics.accuracy, 5 / 8);
  close(metrics.recall, 3 / 4);
  close(metrics.precision, 3 / 5);
  close(metrics.balancedAccuracy, (3 / 4 + 2 / 4) / 2);
  close(metrics.f1, (2 * 0.75 * 0.6) / 1.35);
  close(metrics.unparsedShare, 1 / 4);
});

Deno.test("with one class only, balanced accuracy is that class's recall", () => {
  const metrics = verifierMetrics([verification(false, false), verification(true, false)]);
  close(metrics.balancedAccuracy, 0.5);
  close(metrics.precision, 0);
  close(metrics.recall, 0);
  close(metrics.f1, 0);
});

Deno.test("step counts and step accuracy", () => {
  const metrics = verifierMetrics([
    verification(true, true, {
      stepJudgments: [true, false],
      stepCount: 2,
      goldSteps: [true, true],
    }),
    verification(true, true, { stepJudgments: [true], stepCount: 2, goldSteps: [true, true] }),
    verification(true, true, { stepJudgments: [true, true, true], stepCount: 2 }),
    verification(true, true, { stepJudgments: [false], stepCount: 1, goldSteps: [false] }),
  ]);
  close(metrics.equalStepsShare, 0.5);
  close(metrics.fewerStepsShare, 0.25);
  close(metrics.moreStepsShare, 0.25);
  close(metrics.stepAccuracy, 2 / 5);
  // One of four right steps and the one wrong step.
  close(metrics.stepBalancedAccuracy, (1 / 4 + 1) / 2);
  const alwaysCorrect = verifierMetrics([
    verification(true, false, {
      stepJudgments: [true, true, true],
      stepCount: 3,
      goldSteps: [true, false, true],
    }),
  ]);
  close(alwaysCorrect.stepAccuracy, 2 / 3);
  close(alwaysCorrect.stepBalancedAccuracy, 1 / 2);
  const unlabelled = verifierMetrics([verification(true, true)]);
  assert.equal(unlabelled.stepAccuracy, null);
  assert.equal(unlabelled.stepBalancedAccuracy, null);
});

Deno.test("an empty batch is refused", () => {
  assert.throws(() => verifierMetrics([]), /no verifications/);
});

Deno.test("whether the verdict is the conjunction of the step judgments, by hand", () => {
  const metrics = verifierMetrics([
    verification(true, true, { stepJudgments: [true, true], stepCount: 2 }),
    verification(false, true, { stepJudgments: [true, true], stepCount: 2 }),
    verification(false, false, { stepJudgments: [true, false], stepCount: 2 }),
    verification(true, false, { stepJudgments: [false], stepCount: 1 }),
    verification(false, false, { stepJudgments: [false, false], stepCount: 3 }),
    // These say nothing of it: no verdict, no judgment.
    verification(null, true, { stepJudgments: [true], stepCount: 1 }),
    verification(true, true),
  ]);
  // The first, the third and the fifth of five.
  close(metrics.verdictIsConjunctionShare, 3 / 5);
  assert.equal(verifierMetrics([verification(true, true)]).verdictIsConjunctionShare, null);
});
