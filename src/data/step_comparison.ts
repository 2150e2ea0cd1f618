import type { CritiqueParts } from "./solution_text.ts";
import type { Problem, SolutionParts } from "./task.ts";

/**
 * A step as what it works on and what it claims: `cat:t` is `cat:` and `t`, `7+5=2` is `7+5=` and `2`.
 * Null when the text is not a step of the task at all.
 */
export type SplitStep = (step: string) => { work: string; claim: string } | null;

/** Stands where the problem has no such step. */
const ABSENT = "-";
/** Stands for the claim of a step that makes none. */
const UNREADABLE = "?";

/**
 * Step k is right when it claims what the k-th step of the correct solution claims. What it writes on the
 * way there does not count; a step that follows soundly from an earlier mistake is wrong too.
 */
export function labelStepsByClaim(
  problem: Problem,
  steps: readonly string[],
  splitStep: SplitStep,
): boolean[] {
  return steps.map((step, index) => {
    const claim = splitStep(step)?.claim;
    const gold = index < problem.goldSteps.length ? splitStep(problem.goldSteps[index]) : null;
    return claim !== undefined && claim === gold?.claim;
  });
}

/**
 * The critique that goes through the steps side by side with the problem's own: the work of the k-th
 * true step, its result, `=`, the claim, the judgment: `cat:t=a \boxed{INCORRECT}`. Result and claim
 * agree exactly when the step is right, so a judgment follows from what stands before it.
 *
 * @param beside what stands between result and claim
 * @param closing what stands after the claim, of own result and claim
 */
export function compareStepByStep(
  problem: Problem,
  solution: SolutionParts,
  finalVerdict: boolean,
  splitStep: SplitStep,
  beside = "=",
  closing: (own: string, claim: string) => string = () => "",
): CritiqueParts {
  const labels = labelStepsByClaim(problem, solution.steps, splitStep);
  const steps = solution.steps.map((step, index) => {
    const gold = index < problem.goldSteps.length ? splitStep(problem.goldSteps[index]) : null;
    const claim = splitStep(step)?.claim ?? UNREADABLE;
    const own = gold?.claim ?? ABSENT;
    const text = `${gold?.work ?? `${ABSENT}:`}${own}${beside}${claim}${closing(own, claim)}`;
    return { text, isCorrect: labels[index] };
  });
  return { steps, verdict: finalVerdict };
}

/** What the critique of `compareStepByStep` has worked out for a step, and what the step claims; see `Task`. */
export function readOwnResult(
  critiqueStep: string,
  step: string,
  splitStep: SplitStep,
  beside = "=",
): { own: string; claim: string } | null {
  const box = critiqueStep.lastIndexOf("\\boxed{");
  const end = box < 0 ? -1 : critiqueStep.lastIndexOf(beside, box);
  if (end < 0) return null;
  const worked = critiqueStep.slice(0, end);
  const own = worked === `${ABSENT}:${ABSENT}` ? ABSENT : splitStep(worked)?.claim;
  return own === undefined ? null : { own, claim: splitStep(step)?.claim ?? UNREADABLE };
}
