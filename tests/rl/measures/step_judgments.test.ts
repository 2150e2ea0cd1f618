import assert from "node:assert/strict";
import { lastLetterTask } from "../../../src/data/last_letter.ts";
import { arithmeticTask } from "../../../src/data/arithmetic.ts";
import { chainsTask } from "../../../src/data/chains.ts";
import { stepDoubts } from "../../../src/rl/measures/step_doubts.ts";
import { parseCritique } from "../../../src/rl/text/parse_critique.ts";
import { stepJudgmentMetrics } from "../../../src/rl/measures/step_judgments.ts";
import type { Verification } from "../../../src/rl/measures/verifier_metrics.ts";

/** `+` stands for CORRECT or a right step, `-` for INCORRECT or a wrong one. */
const signs = (text: string) => [...text].map((sign) => sign === "+");

function judged(gold: string, boxes: string, rest: Partial<Verification> = {}): Verification {
  return {
    verdict: null,
    solutionIsCorrect: !gold.includes("-"),
    stepJudgments: signs(boxes),
    stepCount: gold.length,
    goldSteps: signs(gold),
    ...rest,
  };
}

const close = (actual: number | null, expected: number) =>
  assert.ok(actual !== null && Math.abs(actual - expected) < 1e-12, `${actual} is not ${expected}`);

Deno.test("first errors, by hand", () => {
  const metrics = stepJudgmentMetrics([
    // Found; found too early; not found; not each step judged.
    judged("+--", "+-+"),
    judged("+--", "--+"),
    judged("++-", "+++"),
    judged("+-", "-"),
    // Passed; blamed; passed.
    judged("++", "++"),
    judged("+++", "++-"),
    judged("+", "+"),
  ]);
  close(metrics.firstErrorAccuracy, 1 / 4);
  // Harmonic mean of 1/4 and 2/3.
  close(metrics.stepF1, 2 * (1 / 4) * (2 / 3) / (1 / 4 + 2 / 3));
});

Deno.test("within wrong solutions: to call all of their steps wrong tells nothing", () => {
  const blunt = [judged("++-", "---"), judged("+--", "---"), judged("+++", "+++")];
  const { stepBalancedAccuracyInWrong, stepAurocInWrong } = stepJudgmentMetrics(blunt);
  close(stepBalancedAccuracyInWrong, 0.5);
  close(stepAurocInWrong, 0.5);
  const metrics = stepJudgmentMetrics([judged("++-", "+--"), judged("+--", "++-")]);
  // Right steps: 2 of 3 called right; wrong ones: 2 of 3 called wrong.
  close(metrics.stepBalancedAccuracyInWrong, 2 / 3);
  // Scores of wrong steps 1 0 1, of right ones 0 1 0: of 9 pairs 4 won, 4 + 1 - 1 = 4 tied, 1 lost.
  close(metrics.stepAurocInWrong, (4 + 4 / 2) / 9);
  // By place wrong steps have 2 1 2 and right ones 0 1 0: of 9 pairs 8 won, 1 tied.
  close(metrics.stepAurocInWrongByPlace, 8.5 / 9);
});

Deno.test("several critiques of a solution give its steps a score between 0 and 1", () => {
  const [one, other] = [{}, {}];
  const metrics = stepJudgmentMetrics([
    judged("+-", "+-", { solution: one }),
    judged("+-", "--", { solution: one }),
    judged("+-", "+-", { solution: one }),
    // Does not judge each step: no score.
    judged("+-", "-", { solution: one }),
    judged("+-", "-", { solution: other }),
  ]);
  // Wrong steps 1 and 0.5, right ones 1/3 and 0.5: won, won, won, tied.
  close(metrics.stepAurocInWrong, 3.5 / 4);
});

Deno.test("a single critique tells wrong steps from right ones by how sure it is", () => {
  // All are called CORRECT: the wrong steps with 0.6 and 0.3, the right ones with 0.9 and 0.5.
  const metrics = stepJudgmentMetrics([
    judged("+-", "++", { stepDoubts: [0.1, 0.4] }),
    judged("+-", "+-", { stepDoubts: [0.5, 0.7] }),
  ]);
  close(metrics.stepAurocInWrong, 3 / 4);
  close(metrics.stepBalancedAccuracyInWrong, 3 / 4);
});

Deno.test("P(INCORRECT) of a judgment is read at the token with which its word begins", () => {
  const tokenTexts = ["<step>a", " \\boxed{", "COR", "RECT", "}</step>", "<step>", "b \\boxed{IN"]
    .concat("CORRECT}</step>");
  const probabilities = [0.5, 0.5, 0.8, 0.9, 0.5, 0.5, 0.7, 0.9];
  const text = `<step_verification>${tokenTexts.join("")}</step_verification>`;
  const whole = ["<step_verification>", ...tokenTexts, "</step_verification>"];
  const logProbs = Float32Array.from([1, ...probabilities, 1].map(Math.log));
  const doubts = stepDoubts({ tokenTexts: whole, logProbs, ...parseCritique(text) });
  assert.deepEqual(doubts.map((doubt) => Number(doubt.toFixed(6))), [0.2, 0.7]);
});

Deno.test("a wrong solution with right steps alone is wrong, and nothing of it can be told apart", () => {
  const metrics = stepJudgmentMetrics([judged("++", "++", { solutionIsCorrect: false })]);
  assert.deepEqual(metrics, {
    stepF1: null,
    firstErrorAccuracy: null,
    stepBalancedAccuracyInWrong: null,
    stepAurocInWrong: null,
    stepAurocInWrongByPlace: null,
    ownResultDiffersShare: null,
    ownResultAgreesShare: null,
  });
});

Deno.test("whether the critique's own result differs at wrong steps, and agrees at right ones", () => {
  const metrics = stepJudgmentMetrics([
    judged("+--", "+--", { ownResultDiffers: [true, true, false] }),
    judged("--", "--", { ownResultDiffers: [null, true] }),
    judged("++", "++", { ownResultDiffers: [false, null] }),
    judged("-", "-"),
  ]);
  close(metrics.ownResultDiffersShare, 2 / 4);
  // It differs, agrees, and is not there.
  close(metrics.ownResultAgreesShare, 1 / 3);
  const none = stepJudgmentMetrics([judged("+-", "+-", { ownResultDiffers: [null, null] })]);
  assert.deepEqual([none.ownResultDiffersShare, none.ownResultAgreesShare], [null, null]);
});

Deno.test("a critique's own result is read beside the claim", () => {
  const read = (task: typeof lastLetterTask, critiqueStep: string, step: string) =>
    task.readOwnResult?.(critiqueStep, step) ?? null;
  const wrong = " \\boxed{INCORRECT}";
  assert.deepEqual(read(lastLetterTask, `cat:t=a${wrong}`, "cat:a"), { own: "t", claim: "a" });
  // It copies the claim, or claims what the step does not say.
  assert.deepEqual(read(arithmeticTask, `7+5=0=0${wrong}`, "7+5=0"), { own: "0", claim: "0" });
  assert.deepEqual(read(arithmeticTask, `7+5=2=2${wrong}`, "7+5=0"), { own: "2", claim: "0" });
  assert.deepEqual(read(arithmeticTask, `-:-=3${wrong}`, "1+2=3"), { own: "-", claim: "3" });
  assert.deepEqual(read(lastLetterTask, `cat:t=?${wrong}`, "cat"), { own: "t", claim: "?" });
  // What stands between the two is the task's.
  assert.deepEqual(read(chainsTask, `bob:7+3=10|11${wrong}`, "bob:7+3=11"), {
    own: "10",
    claim: "11",
  });
  assert.deepEqual(read(chainsTask, `-:-|20${wrong}`, "dan:10*2=20"), { own: "-", claim: "20" });
  assert.deepEqual(read(chainsTask, `bob:7+3=10|?${wrong}`, "ten"), { own: "10", claim: "?" });
  for (
    const none of [`bob:7+3|10${wrong}`, `bob:7+3=10${wrong}`, "bob:7+3=10|11", `a|b|c${wrong}`]
  ) {
    assert.equal(read(chainsTask, none, "bob:7+3=11"), null, none);
  }
  for (const none of [`so it is${wrong}`, "cat:t", `cat=a${wrong}`]) {
    assert.equal(read(lastLetterTask, none, "cat:a"), null, none);
  }
});
