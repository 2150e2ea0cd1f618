import type { StepJudgments } from "./step_judgments.ts";

/**
 * Share of the old average that a step keeps. Verifier steps are few, each changes what is measured, and each has many
 * critiques of a solution: a long memory would tell of a verifier that is no more.
 */
export const QUALITY_DECAY = { generator: 0.8, verifier: 0.2 } as const;

/**
 * Moving averages of how step judgments agree with outcomes; plain data, part of the checkpoint. Counts rather
 * than shares, so that a batch with few solutions of a kind says little about it.
 */
export interface JudgmentQuality {
  /** Right solutions that were judged, and those of them whose every step was called CORRECT. */
  readonly right: number;
  readonly rightPassed: number;
  /** Wrong solutions that were judged, and those of them with a step called INCORRECT. */
  readonly wrong: number;
  readonly wrongFlagged: number;
}

/** A solution and what was said of its steps. */
export interface OutcomeOfJudged {
  readonly isCorrect: boolean;
  readonly judgments: StepJudgments;
}

/**
 * The averages after one more batch: decay * old + (1 - decay) * new, or the batch's own before the first. A solution of
 * which no critique judged all steps counts as misjudged; one without steps does not count.
 */
export function updateJudgmentQuality(
  old: JudgmentQuality | null,
  solutions: readonly OutcomeOfJudged[],
  decay: number,
): JudgmentQuality {
  const counts = { right: 0, rightPassed: 0, wrong: 0, wrongFlagged: 0 };
  for (const { isCorrect, judgments } of solutions) {
    if (judgments?.length === 0) continue;
    const passes = judgments?.every((judgment) => judgment > 0) ?? null;
    counts[isCorrect ? "right" : "wrong"]++;
    if (isCorrect && passes === true) counts.rightPassed++;
    if (!isCorrect && passes === false) counts.wrongFlagged++;
  }
  if (old === null) return counts;
  const moved = (name: keyof JudgmentQuality) => decay * old[name] + (1 - decay) * counts[name];
  return {
    right: moved("right"),
    rightPassed: moved("rightPassed"),
    wrong: moved("wrong"),
    wrongFlagged: moved("wrongFlagged"),
  };
}

/**
 * Balanced accuracy of "every step is CORRECT" about whether the answer is right, 0.5 at chance: it needs no
 * label of a step. Null until there were solutions of both kinds.
 */
export function judgmentAccuracy(quality: JudgmentQuality): number | null {
  const { right, rightPassed, wrong, wrongFlagged } = quality;
  if (right === 0 || wrong === 0) return null;
  return (rightPassed / right + wrongFlagged / wrong) / 2;
}

/** initial * max(0, 2q - 1), where q is the measured quality: 0 while that is chance, or not known. */
export function earnedAlpha(initial: number, quality: JudgmentQuality | null): number {
  const accuracy = quality && judgmentAccuracy(quality);
  return accuracy === null ? 0 : initial * Math.max(0, 2 * accuracy - 1);
}
