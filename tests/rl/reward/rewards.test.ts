import assert from "node:assert/strict";
import {
  generatorReward,
  outcomeReward,
  paidJudgments,
  stepRewards,
  verifierReward,
} from "../../../src/rl/reward/rewards.ts";

Deno.test("step rewards are +-1/K, and exist only for K judgments", () => {
  assert.deepEqual(stepRewards({ stepJudgments: [true, false, true, true] }, 4), [
    0.25,
    -0.25,
    0.25,
    0.25,
  ]);
  assert.equal(stepRewards({ stepJudgments: [true] }, 2), null);
  assert.equal(stepRewards({ stepJudgments: [] }, 0), null);
});

Deno.test("the outcome reward mixes correctness and verdict", () => {
  assert.equal(outcomeReward(1, false, 1), 1);
  assert.equal(outcomeReward(1, false, 0.75), 0.75);
  assert.equal(outcomeReward(0, true, 0.75), 0.25);
  assert.equal(outcomeReward(1, null, 0), 1);
});

Deno.test("a generator reward averages its critiques", () => {
  const reward = generatorReward({
    correctness: 1,
    formatScore: 0.6,
    stepCount: 2,
    critiques: [
      { stepJudgments: [true, true], verdict: true },
      { stepJudgments: [true, false], verdict: false },
      { stepJudgments: [true], verdict: null },
    ],
    groundTruthWeight: 0.5,
    generatorFormatWeight: 0.5,
  });
  // Outcomes 1, 0.5, 1; the third critique misjudged the number of steps.
  assert.ok(Math.abs(reward.outcome - (2.5 / 3 + 0.3)) < 1e-12);
  assert.deepEqual(reward.steps, [0.5, 0]);
});

Deno.test("without a critique the generator has its rule reward only", () => {
  const response = {
    correctness: 1,
    formatScore: 1,
    stepCount: 2,
    critiques: [],
    groundTruthWeight: 1,
    generatorFormatWeight: 0,
  };
  assert.deepEqual(generatorReward(response), { outcome: 1, steps: [] });
});

Deno.test("a verifier is paid for a right verdict and for form, and for nothing it did not say", () => {
  const weights = { verifierCorrectnessWeight: 1, verifierFormatWeight: 0.8 };
  const reward = (verdict: boolean | null, solutionIsCorrect: boolean) =>
    verifierReward({ judgments: [verdict], solutionIsCorrect, formatScore: 0.5, ...weights });
  assert.equal(reward(true, true), 1.4);
  assert.equal(reward(false, false), 1.4);
  assert.equal(reward(true, false), 0.4);
  assert.equal(reward(null, false), 0);
});

Deno.test("the conjunction of the step judgments takes the verdict's place, or half of it", () => {
  const weights = { verifierCorrectnessWeight: 1, verifierFormatWeight: 0.8 };
  const earned = (
    paid: "final" | "conjunction" | "both",
    verdict: boolean | null,
    stepJudgments: boolean[],
    solutionIsCorrect: boolean,
    stepCount = 2,
  ) => {
    const judgments = paidJudgments({ verdict, stepJudgments }, stepCount, paid);
    return verifierReward({ judgments, solutionIsCorrect, formatScore: 0.5, ...weights });
  };
  // Verdict and boxes agree, and are right or wrong.
  for (const paid of ["final", "conjunction", "both"] as const) {
    assert.equal(earned(paid, true, [true, true], true), 1.4, paid);
    assert.equal(earned(paid, false, [true, false], false), 1.4, paid);
    assert.equal(earned(paid, true, [true, true], false), 0.4, paid);
    assert.equal(earned(paid, false, [false, false], true), 0.4, paid);
  }
  // The verdict is right and the boxes contradict it; then the other way round.
  assert.equal(earned("final", false, [true, true], false), 1.4);
  assert.equal(earned("conjunction", false, [true, true], false), 0.4);
  assert.equal(earned("both", false, [true, true], false), 0.9);
  assert.equal(earned("final", false, [true, true], true), 0.4);
  assert.equal(earned("conjunction", false, [true, true], true), 1.4);
  assert.equal(earned("both", false, [true, true], true), 0.9);
  // Boxes that are too few, too many, or of a solution without steps say nothing of it.
  for (const [judgments, steps] of [[[true], 2], [[true, true, true], 2], [[], 0]] as const) {
    assert.equal(earned("final", true, [...judgments], true, steps), 1.4);
    assert.equal(earned("conjunction", true, [...judgments], true, steps), 0);
    assert.equal(earned("both", true, [...judgments], true, steps), 0);
  }
  assert.equal(earned("conjunction", null, [true, true], true), 1.4);
  assert.equal(earned("both", null, [true, true], true), 0);
});
