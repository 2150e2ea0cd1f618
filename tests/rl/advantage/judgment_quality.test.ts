import assert from "node:assert/strict";
import {
  earnedAlpha,
  judgmentAccuracy,
  type OutcomeOfJudged,
  updateJudgmentQuality,
} from "../../../src/rl/advantage/judgment_quality.ts";

const right = (judgments: number[] | null): OutcomeOfJudged => ({ isCorrect: true, judgments });
const wrong = (judgments: number[] | null): OutcomeOfJudged => ({ isCorrect: false, judgments });

Deno.test("judgment quality: balanced accuracy of the conjunction about the outcome", () => {
  const first = updateJudgmentQuality(null, [
    right([1, 1]),
    right([1, -1]),
    right([1, 0.2, 1]),
    right(null),
    wrong([1, -1]),
    wrong([1]),
    // Half of the critiques is no majority.
    wrong([1, 0]),
    wrong(null),
    wrong([]),
  ], 0.8);
  assert.deepEqual(first, { right: 4, rightPassed: 2, wrong: 4, wrongFlagged: 2 });
  assert.equal(judgmentAccuracy(first), 0.5);
  assert.equal(earnedAlpha(0.5, first), 0);
});

Deno.test("judgment quality: the averages move by a fifth, and counts weigh", () => {
  const first = { right: 10, rightPassed: 6, wrong: 5, wrongFlagged: 4 };
  const next = updateJudgmentQuality(first, [right([1]), right([1]), wrong([1])], 0.8);
  // right: 8 + 0.4, passed 4.8 + 0.4; wrong: 4 + 0.2, flagged 3.2.
  const q = (5.2 / 8.4 + 3.2 / 4.2) / 2;
  assert.ok(Math.abs(Number(judgmentAccuracy(next)) - q) < 1e-12);
  assert.ok(Math.abs(earnedAlpha(0.5, next) - 0.5 * (2 * q - 1)) < 1e-12);
  // A batch without right solutions says nothing about those.
  const other = updateJudgmentQuality(first, [wrong([-1])], 0.8);
  assert.ok(Math.abs(other.rightPassed / other.right - 0.6) < 1e-12);
});

Deno.test("judgment quality: alpha is 0 while a kind was never seen, at chance and below", () => {
  assert.equal(earnedAlpha(0.5, null), 0);
  assert.equal(earnedAlpha(0.5, updateJudgmentQuality(null, [wrong([-1])], 0.8)), 0);
  assert.equal(earnedAlpha(0.5, updateJudgmentQuality(null, [wrong([1]), right([-1])], 0.8)), 0);
  assert.equal(earnedAlpha(0.5, updateJudgmentQuality(null, [wrong([-1]), right([1])], 0.8)), 0.5);
  // All CORRECT is chance, however many solutions are right.
  assert.equal(
    earnedAlpha(1, updateJudgmentQuality(null, [wrong([1]), right([1]), right([1])], 0.8)),
    0,
  );
});
