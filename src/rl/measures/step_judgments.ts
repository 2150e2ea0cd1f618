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
  /** What that would be by the place of the steps alone, later ones scoring higher: mistakes carry over. */
  readonly stepAurocInWrongByPlace: number | null;
  /** Share of the wrong steps at which the critique's own result is not what the step claims: 0 when it copies. */
  readonly ownResultDiffersShare: number | null;
  /** Share of the right steps at which it is what the step claims: low when critiques work out anything at all. */
  readonly ownResultAgreesShare: number | null;
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
  const bySolution = [...Map.groupBy(inWrong, (one) => one.solution ?? one).values()];
  const labels = new Set(inWrong.flatMap(({ goldSteps }) => goldSteps));
  return {
    stepF1: hasErrors && hasNone ? f1 : null,
    firstErrorAccuracy: hasErrors ? erroneousAccuracy : null,
    stepBalancedAccuracyInWrong: labels.size === 2
      ? stepAccuracies(inWrong).stepBalancedAccuracy
      : null,
    stepAurocInWrong: labels.size === 2 ? auroc(stepScores(bySolution)) : null,
    stepAurocInWrongByPlace: labels.size === 2 ? auroc(placeScores(bySolution)) : null,
    ownResultDiffersShare: ownResultShare(labelled, { ofRightSteps: false, differs: true }),
    ownResultAgreesShare: ownResultShare(labelled, { ofRightSteps: true, differs: false }),
  };
}

/** A verification whose solution has true step labels. */
type Labelled = Verification & { readonly goldSteps: readonly boolean[] };

/** A step, or a solution, and how likely it is said to be wrong. */
interface Scored {
  readonly score: number;
  readonly isWrong: boolean;
}

/** Each step's mean P(INCORRECT) over the critiques that judge each step of its solution; 0.5 without any. */
function stepScores(bySolution: readonly (readonly Labelled[])[]): Scored[] {
  return bySolution.flatMap((critiques) => {
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

/** Each step's place in its solution. */
function placeScores(bySolution: readonly (readonly Labelled[])[]): Scored[] {
  return bySolution.flatMap(([{ goldSteps }]) =>
    goldSteps.map((gold, step) => ({ score: step, isWrong: !gold }))
  );
}

/**
 * Area under the ROC curve: how often a wrong step, or solution, scores higher than a right one, a tie counted as half.
 * There must be one of each.
 */
export function auroc(scores: readonly Scored[]): number {
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

/** Of the right or the wrong steps the share at which the critique's own result differs, or agrees. */
function ownResultShare(
  verifications: readonly Labelled[],
  { ofRightSteps, differs }: { readonly ofRightSteps: boolean; readonly differs: boolean },
): number | null {
  const read = verifications.flatMap(({ goldSteps, ownResultDiffers }) =>
    ownResultDiffers ? goldSteps.map((gold, step) => ({ gold, own: ownResultDiffers[step] })) : []
  );
  // A critique of another form works out nothing.
  if (read.every(({ own }) => own === null)) return null;
  const steps = read.filter(({ gold }) => gold === ofRightSteps);
  return steps.length === 0
    ? null
    : steps.filter(({ own }) => own === differs).length / steps.length;
}
