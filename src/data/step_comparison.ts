import { renderCritique } from "./solution_text.ts";
import type { Problem, SolutionParts } from "./task.ts";

/**
 * A step as what it works on and what it claims: `cat:t` is `cat:` and `t`, `7+5=2` is `7+5=` and `2`.
 * Null when the text is not a step of the task at all.
 */
export type SplitStep = (step: string) => { work: string; claim: string } | null;

/** Stands where the problem has no such step. */
const ABSENT = "-";
/** Stands for the claim of a step that works on something other than the problem says. */
const UNUSABLE = "?";

/**
 * Step k is right when it is the k-th step of the correct solution, letter for letter; a step that
 * follows soundly from an earlier mistake is therefore wrong too.
 */
export function labelStepsByGold(problem: Problem, steps: readonly string[]): boolean[] {
  return steps.map((step, index) => step === problem.goldSteps[index]);
}

/**
 * The critique that goes through the steps side by side with the problem's own: the work of the k-th
 * true step, the claim, `=`, the true result, the judgment: `cat:a=t \boxed{INCORRECT}`. Claim and
 * result agree exactly when the step is right, so a judgment follows from what stands before it.
 */
export function compareStepByStep(
  problem: Problem,
  solution: SolutionParts,
  finalVerdict: boolean,
  splitStep: SplitStep,
): string {
  const labels = labelStepsByGold(problem, solution.steps);
  const judgments = solution.steps.map((step, index) => {
    const gold = index < problem.goldSteps.length ? splitStep(problem.goldSteps[index]) : null;
    const claimed = splitStep(step);
    const isUsable = claimed !== null && (gold === null || claimed.work === gold.work);
    const text = `${gold?.work ?? ABSENT + ":"}${isUsable ? claimed.claim : UNUSABLE}=${
      gold?.claim ?? ABSENT
    }`;
    return { text, isCorrect: labels[index] };
  });
  return renderCritique(judgments, finalVerdict);
}
