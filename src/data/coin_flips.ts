import type { CritiqueParts } from "./solution_text.ts";
import type { Uniform } from "./task.ts";

/**
 * The critique with judgments that know nothing of the solution: a fair coin decides the verdict, and the
 * steps' judgments are fair coins that agree with it, all CORRECT under a right verdict and not all under
 * a wrong one. What stands before the judgments stays.
 */
export function flipJudgments({ steps }: CritiqueParts, uniform: Uniform): CritiqueParts {
  const verdict = uniform() < 0.5;
  const flip = () => steps.map(() => uniform() < 0.5);
  let judgments = steps.map(() => true);
  if (!verdict && steps.length > 0) {
    do judgments = flip(); while (judgments.every((judgment) => judgment));
  }
  return {
    steps: steps.map(({ text }, index) => ({ text, isCorrect: judgments[index] })),
    verdict,
  };
}
