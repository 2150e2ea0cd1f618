import { type StepJudgmentMetrics, stepJudgmentMetrics } from "./step_judgments.ts";

/** One verification and what is true about the solution it judged. */
export interface Verification {
  /** Final verdict, null when it could not be read. */
  verdict: boolean | null;
  /** Whether the solution is truly correct. */
  solutionIsCorrect: boolean;
  /** Judgments of the well-formed steps; K_v of them. */
  stepJudgments: readonly boolean[];
  /** P(INCORRECT) of each of these; absent: 0 and 1, as the judgments say. */
  stepDoubts?: readonly number[];
  /** K, the steps of the solution. */
  stepCount: number;
  /** True step labels where the task can tell them; only ever measured against, never trained on. */
  goldSteps?: readonly boolean[];
  /** What was judged: verifications of the same one are taken together; absent: nothing else was about it. */
  solution?: object;
  /**
   * For each step whether the result that the critique works out is another than the step claims, null where it works
   * out none; absent where the task cannot tell, or the critique does not judge each step.
   */
  ownResultDiffers?: readonly (boolean | null)[];
}

/** How well a verifier judges; all are shares from 0 to 1. */
export interface VerifierMetrics extends StepJudgmentMetrics {
  accuracy: number;
  balancedAccuracy: number;
  precision: number;
  recall: number;
  f1: number;
  unparsedShare: number;
  /** Share of responses with K_v equal to, below and above K. */
  equalStepsShare: number;
  fewerStepsShare: number;
  moreStepsShare: number;
  /**
   * Share of the critiques whose verdict is CORRECT exactly when all their step judgments are, among those
   * with a readable verdict and at least one readable judgment; null without such.
   */
  verdictIsConjunctionShare: number | null;
  /** Share of steps judged as their true label says; null without true labels. */
  stepAccuracy: number | null;
  /**
   * The mean of that over right steps and over wrong ones, of the kinds there are: always answering CORRECT
   * gives 0.5, while it raises step accuracy as solutions get better. Null without true labels.
   */
  stepBalancedAccuracy: number | null;
}

/**
 * Metrics of a batch of verifications; CORRECT is the positive class.
 *
 * A verdict that cannot be read counts as the wrong one: a false negative on a correct solution, a false
 * positive on an incorrect one. (The reference implementation counts it as INCORRECT, which rewards
 * silence on incorrect solutions.) Balanced accuracy is the mean recall of the classes present;
 * precision, recall and F1 are 0 where undefined. In step accuracy, all steps of a response with
 * K_v != K are wrong.
 * @throws Error for an empty batch.
 */
export function verifierMetrics(verifications: readonly Verification[]): VerifierMetrics {
  const total = verifications.length;
  if (total === 0) throw new Error("verifier metrics: no verifications to measure");
  const share = (matches: (verification: Verification) => boolean) =>
    verifications.filter(matches).length / total;
  const positives = verifications.filter((one) => one.solutionIsCorrect);
  const negatives = verifications.filter((one) => !one.solutionIsCorrect);
  const truePositives = positives.filter((one) => one.verdict === true).length;
  const trueNegatives = negatives.filter((one) => one.verdict === false).length;
  const precision = ratio(truePositives, truePositives + negatives.length - trueNegatives);
  const recall = ratio(truePositives, positives.length);
  const classRecalls = [
    ...(positives.length > 0 ? [recall] : []),
    ...(negatives.length > 0 ? [trueNegatives / negatives.length] : []),
  ];
  return {
    accuracy: (truePositives + trueNegatives) / total,
    balancedAccuracy: classRecalls.reduce((sum, value) => sum + value, 0) / classRecalls.length,
    precision,
    recall,
    f1: ratio(2 * precision * recall, precision + recall),
    unparsedShare: share((one) => one.verdict === null),
    equalStepsShare: share((one) => one.stepJudgments.length === one.stepCount),
    fewerStepsShare: share((one) => one.stepJudgments.length < one.stepCount),
    moreStepsShare: share((one) => one.stepJudgments.length > one.stepCount),
    verdictIsConjunctionShare: verdictIsConjunctionShare(verifications),
    ...stepAccuracies(verifications),
    ...stepJudgmentMetrics(verifications),
  };
}

/** See `VerifierMetrics`. */
export function verdictIsConjunctionShare(
  critiques: readonly Pick<Verification, "verdict" | "stepJudgments">[],
): number | null {
  const told = critiques.filter(({ verdict, stepJudgments }) =>
    verdict !== null && stepJudgments.length > 0
  );
  if (told.length === 0) return null;
  const agreeing = told.filter(({ verdict, stepJudgments }) =>
    verdict === stepJudgments.every((judgment) => judgment)
  );
  return agreeing.length / told.length;
}

/** See `VerifierMetrics`. */
export function stepAccuracies(
  verifications: readonly Pick<Verification, "stepJudgments" | "goldSteps">[],
): Pick<VerifierMetrics, "stepAccuracy" | "stepBalancedAccuracy"> {
  const wrongSteps = { steps: 0, hits: 0 }, rightSteps = { steps: 0, hits: 0 };
  for (const { goldSteps, stepJudgments } of verifications) {
    for (const [step, gold] of (goldSteps ?? []).entries()) {
      const kind = gold ? rightSteps : wrongSteps;
      kind.steps++;
      if (stepJudgments.length === goldSteps?.length && stepJudgments[step] === gold) kind.hits++;
    }
  }
  const kinds = [rightSteps, wrongSteps].filter(({ steps }) => steps > 0);
  if (kinds.length === 0) return { stepAccuracy: null, stepBalancedAccuracy: null };
  const recalls = kinds.map(({ steps, hits }) => hits / steps);
  return {
    stepAccuracy: (rightSteps.hits + wrongSteps.hits) / (rightSteps.steps + wrongSteps.steps),
    stepBalancedAccuracy: recalls.reduce((sum, value) => sum + value, 0) / recalls.length,
  };
}

function ratio(numerator: number, denominator: number): number {
  return denominator === 0 ? 0 : numerator / denominator;
}
