import type { Confusion } from "../../index/read_confusion.ts";

/**
 * Confusion matrices as shares of all verdicts, whether they were counts or shares. An unreadable verdict is
 * among the wrong ones, as in the run's own metrics; `unparsed` says how many those are.
 */
export function confusionShares(points: readonly Confusion[]) {
  return points.flatMap((point) => {
    const { step, trueCorrect, falseCorrect, trueIncorrect, falseIncorrect, unparsed } = point;
    const total = trueCorrect + falseCorrect + trueIncorrect + falseIncorrect;
    if (!(total > 0)) return [];
    const right = trueCorrect + falseIncorrect;
    const wrong = trueIncorrect + falseCorrect;
    // Of the kinds of solutions that there are: a step whose solutions are all wrong has a recall of one kind.
    const recalls = [
      ...(right > 0 ? [trueCorrect / right] : []),
      ...(wrong > 0 ? [trueIncorrect / wrong] : []),
    ];
    return [{
      step,
      trueCorrect: trueCorrect / total,
      falseCorrect: falseCorrect / total,
      trueIncorrect: trueIncorrect / total,
      falseIncorrect: falseIncorrect / total,
      unparsed: unparsed / total,
      balancedAccuracy: recalls.reduce((sum, recall) => sum + recall, 0) / recalls.length,
    }];
  });
}
