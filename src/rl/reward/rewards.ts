import type { ParsedCritique } from "../text/parse_critique.ts";

/**
 * Step rewards of a solution with K steps from one critique: +1/K for a step judged CORRECT, -1/K
 * otherwise. They exist only when the critique judged exactly K steps and K > 0; null otherwise.
 */
export function stepRewards(
  critique: Pick<ParsedCritique, "stepJudgments">,
  stepCount: number,
): number[] | null {
  const { stepJudgments } = critique;
  if (stepCount === 0 || stepJudgments.length !== stepCount) return null;
  return stepJudgments.map((correct) => (correct ? 1 : -1) / stepCount);
}

/**
 * Outcome reward from one critique: w * correctness + (1 - w) * verdict, or the correctness alone when
 * the verdict cannot be read.
 * @param correctness r_gt, 0 or 1.
 * @param groundTruthWeight w in [0, 1]; 1 in the published run.
 */
export function outcomeReward(
  correctness: number,
  verdict: boolean | null,
  groundTruthWeight: number,
): number {
  if (verdict === null) return correctness;
  return mixedOutcome(correctness, verdict ? 1 : 0, groundTruthWeight);
}

/** w * correctness + (1 - w) * what a judge says, from 0 to 1. */
function mixedOutcome(correctness: number, judged: number, groundTruthWeight: number): number {
  return groundTruthWeight * correctness + (1 - groundTruthWeight) * judged;
}

/** Rewards of a generator response. */
export interface GeneratorReward {
  /** The sequence reward R of the outcome part. */
  outcome: number;
  /** Rewards of the steps, each for the last token of its step; empty when no critique judged all steps. */
  steps: number[];
}

/**
 * Reward of one generator response judged by m critiques (m = 0 without a verifier), or by a reward model.
 *
 * The outcome is the mean of the m outcome rewards plus the weighted format score; a reward model's P(right) stands in
 * the place of a verdict. The step rewards
 * are the mean over those critiques that judged exactly `stepCount` steps: a critique that misjudged
 * the number of steps says nothing about any of them.
 */
export function generatorReward(response: {
  correctness: number;
  formatScore: number;
  stepCount: number;
  critiques: readonly Pick<ParsedCritique, "stepJudgments" | "verdict">[];
  /** P(right) of a reward model; null or absent without one. */
  score?: number | null;
  groundTruthWeight: number;
  generatorFormatWeight: number;
}): GeneratorReward {
  const { correctness, critiques, stepCount, score = null, groundTruthWeight } = response;
  const outcomes = score === null
    ? critiques.map(({ verdict }) => outcomeReward(correctness, verdict, groundTruthWeight))
    : [mixedOutcome(correctness, score, groundTruthWeight)];
  const judged = critiques.map((critique) => stepRewards(critique, stepCount))
    .filter((rewards) => rewards !== null);
  const outcome = outcomes.length === 0
    ? correctness
    : outcomes.reduce((sum, reward) => sum + reward, 0) / outcomes.length;
  return {
    outcome: outcome + response.generatorFormatWeight * response.formatScore,
    steps: judged.length === 0 ? [] : Array.from(
      { length: stepCount },
      (_, step) => judged.reduce((sum, rewards) => sum + rewards[step], 0) / judged.length,
    ),
  };
}

/** Judgments of a whole solution: the final verdict, that all its steps are right, or both. */
export type PaidJudgment = "final" | "conjunction" | "both";

/**
 * Whether a critique calls all K steps of a solution right. Null when it does not judge exactly K steps, or
 * there are none.
 */
export function conjunctionOf(
  stepJudgments: readonly boolean[],
  stepCount: number,
): boolean | null {
  if (stepCount === 0 || stepJudgments.length !== stepCount) return null;
  return stepJudgments.every((judgment) => judgment);
}

/** The judgments of a solution that a critique is paid for; null stands for one that cannot be read. */
export function paidJudgments(
  { verdict, stepJudgments }: Pick<ParsedCritique, "verdict" | "stepJudgments">,
  stepCount: number,
  paid: PaidJudgment,
): (boolean | null)[] {
  if (paid === "final") return [verdict];
  const conjunction = conjunctionOf(stepJudgments, stepCount);
  return paid === "conjunction" ? [conjunction] : [verdict, conjunction];
}

/**
 * Reward of one verifier response: verifierCorrectnessWeight * (share of its paid judgments that are right) +
 * verifierFormatWeight * r_vfmt; 0 when one of them cannot be read. In the published run the final verdict alone is
 * paid, and the weights are 1.0 and 0.8. Where two are paid, one that contradicts the other is half the pay.
 *
 * @param response.judgments as `paidJudgments` tells them
 */
export function verifierReward(response: {
  judgments: readonly (boolean | null)[];
  solutionIsCorrect: boolean;
  formatScore: number;
  verifierCorrectnessWeight: number;
  verifierFormatWeight: number;
}): number {
  const { judgments, solutionIsCorrect } = response;
  if (judgments.includes(null)) return 0;
  const right = judgments.filter((judgment) => judgment === solutionIsCorrect).length;
  return response.verifierCorrectnessWeight * (right / judgments.length) +
    response.verifierFormatWeight * response.formatScore;
}

/**
 * What a critique's judgment of each step of a solution earns: 1 when it is right, else 0; nothing for any of them
 * when it does not judge each step.
 *
 * @param labels of the solution's steps
 */
export function stepJudgmentRewards(
  { stepJudgments }: Pick<ParsedCritique, "stepJudgments">,
  labels: readonly boolean[],
): number[] {
  const judgesEach = stepJudgments.length === labels.length;
  return labels.map((label, step) => judgesEach && stepJudgments[step] === label ? 1 : 0);
}
