/** How well a verifier tells *where* a solution goes wrong, and whether it has calculated for itself. */

import { mean } from "../../base/statistics.ts";
import { processMetrics } from "./process_metrics.ts";
import { stepAccuracies, type Verification } from "./verifier_metrics.ts";

/** Measures of step judgments, shares from 0 to 1; null where nothing of the kind was judged. */
export interface StepJudgmentMetrics {
  /** Harmonic mean of `firstErrorAccuracy` and the share of solutions without a wrong step that were found so. */
  readonly stepF1: number | null;
  /** Share of the solutions with a wrong step whose first one was the first called wrong. */
  readonly firstErrorAccuracy: number | null;
  /** The step balanced accuracy within wrong solutions: to know *that* one is wrong gives 0.5. */
  readonly stepBalancedAccuracyInWrong: number | null;
  /** Chance that, of a wrong and a right step of wrong solutions, the wrong one has the higher mean P(INCORRECT). */
  readonly stepAurocInWrong: number | null;
  /** Share of the wrong steps at which the critique's own result is not what the step claims: 0 when it copies. */
  readonly ownResultDiffersShare: number | null;
}

/** Measures judgments of steps whose true labels are known; the others are passed over. */
export function stepJudgmentMetrics(verifications: readonly Verification[]): StepJudgmentMetrics {
  const labelled = verifications.flatMap((one) =>
    one.goldSteps && one.goldSteps.length > 0 ? [{ ...one, goldSteps: one.goldSteps }] : []
  );
  const judged = labelled.map(({ stepJudgments, goldSteps }) => ({
    found: stepJudgments.length === goldSteps.length ? stepJudgments.indexOf(false) : null,
    firstError: goldSteps.indexOf(false),
  }));
  const { f1, erroneousAccuracy } = processMetrics(judged);
  const hasErrors = judged.some(({ firstError }) => firstError >= 0);
  const hasNone = judged.some(({ firstError }) => firstError < 0);
  const inWrong = labelled.filter(({ solutionIsCorrect }) => !solutionIsCorrect);
  const labels = new Set(inWrong.flatMap(({ goldSteps }) => goldSteps));
  return {
    stepF1: hasErrors && hasNone ? f1 : null,
    firstErrorAccuracy: hasErrors ? erroneousAccuracy : null,
    stepBalancedAccuracyInWrong: labels.size === 2
      ? stepAccuracies(inWrong).stepBalancedAccuracy
      : null,
    stepAurocInWrong: labels.size === 2 ? auroc(stepScores(inWrong)) : null,
    ownResultDiffersShare: ownResultDiffersShare(labelled),
  };
}

/** A verification whose solution has true step labels. */
type Labelled = Verification & { readonly goldSteps: readonly boolean[] };

/** Each step's mean P(INCORRECT) over the critiques that judge each step of its solution; 0.5 without any. */
function stepScores(verifications: readonly Labelled[]): { score: number; isWrong: boolean }[] {
  const bySolution = new Map<unknown, Labelled[]>();
  for (const one of verifications) {
    const key = one.solution ?? one;
    bySolution.set(key, [...bySolution.get(key) ?? [], one]);
  }
  return [...bySolution.values()].flatMap((critiques) => {
    const [{ goldSteps }] = critiques;
    const whole = critiques.filter(({ stepJudgments }) =>
      stepJudgments.length === goldSteps.length
    );
    return goldSteps.map((gold, step) => ({
      isWrong: !gold,
      score: whole.length === 0
        ? 0.5
        : mean(whole.map(({ stepDoubts, stepJudgments }) =>
          stepDoubts?.[step] ?? (stepJudgments[step] ? 0 : 1)
        )),
    }));
  });
}

/**
 * Area under the ROC curve: how often a wrong step, or solution, scores higher than a right one, a tie counted as half.
 * There must be one of each.
 */
export function auroc(
  scores: readonly { readonly score: number; readonly isWrong: boolean }[],
): number {
  const sorted = scores.toSorted((a, b) => a.score - b.score);
  const wrong = scores.filter(({ isWrong }) => isWrong).length;
  let rightBelow = 0, wins = 0;
  for (let i = 0; i < sorted.length;) {
    let wrongHere = 0, rightHere = 0, end = i;
    for (; end < sorted.length && sorted[end].score === sorted[i].score; end++) {
      if (sorted[end].isWrong) wrongHere++;
      else rightHere++;
    }
    wins += wrongHere * (rightBelow + rightHere / 2);
    rightBelow += rightHere;
    i = end;
  }
  return wins / (wrong * (scores.length - wrong));
}

function ownResultDiffersShare(verifications: readonly Labelled[]): number | null {
  const wrongSteps = verifications.flatMap(({ goldSteps, ownResultDiffers }) =>
    ownResultDiffers ? goldSteps.flatMap((gold, step) => gold ? [] : [ownResultDiffers[step]]) : []
  );
  // A critique of another form works out nothing.
  if (wrongSteps.every((differs) => differs === null)) return null;
  return wrongSteps.filter((differs) => differs === true).length / wrongSteps.length;
}
