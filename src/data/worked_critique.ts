/**
 * Critiques of solutions whose right steps are known: each writes the right step, then what the solution claims there,
 * then the judgment, which follows from the two: `12+7=19, claimed 18 \boxed{INCORRECT}`.
 */

import type { WorkedSolution } from "./corrupt_numbers.ts";
import type { CritiqueParts } from "./solution_text.ts";

/** Stands where the right solution has no such step. */
const ABSENT = "-";

/** A number as a model may write it, with its sign where that is no operation: `-5`, `1,200`, `.5`. */
const CLAIMED =
  /(?:(?<=(?:^|[=(:])\s*)-)?(?<![\w.])(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?![\w]|[.,]\d)/g;

/** What a step claims: its last number, or all of it where it has none. */
function claimOf(step: string): string {
  return step.match(CLAIMED)?.at(-1) ?? step;
}

/** Whether a step claims what the right step in its place does: `15.0` is `15`. */
export function isRightClaim(step: string, right: string | undefined): boolean {
  if (right === undefined) return false;
  const claim = claimOf(step), rightClaim = claimOf(right);
  return claim === rightClaim || valueOf(claim) === valueOf(rightClaim);
}

/** NaN, which equals nothing, where it is no number. */
function valueOf(claim: string): number {
  return claim === "" ? NaN : Number(claim.replaceAll(",", ""));
}

/** The critique of a solution beside the right one. */
export function workedCritique(right: WorkedSolution, given: WorkedSolution): CritiqueParts {
  const steps = given.steps.map((step, index) => {
    const own = right.steps.at(index);
    // A sentence's full stop would stand before the comma.
    const text = `${own?.replace(/\.$/, "") ?? ABSENT}, claimed ${claimOf(step)}`;
    return { text, isCorrect: isRightClaim(step, own) };
  });
  return { steps, verdict: given.answer === right.answer };
}

/** A step that is nothing but a calculation: `12+7=19`. */
const TERSE = /^\d+(?:\.\d+)?( ?[-+*\/] ?\d+(?:\.\d+)?)+ ?= ?\d+(?:\.\d+)?$/;

/** Whether each step of a solution is one calculation and nothing else, so that steps can be compared one by one. */
export function isTerse(steps: readonly string[] | null): steps is readonly string[] {
  return steps !== null && steps.length > 0 && steps.every((step) => TERSE.test(step));
}

/** Whether each step claims what the right solution's step in its place does. */
export function labelStepsBeside(right: readonly string[], steps: readonly string[]): boolean[] {
  return steps.map((step, index) => isRightClaim(step, right.at(index)));
}

/** What a step of `workedCritique` has worked out by itself, and what the step that it judges claims; see `Task`. */
export function readWorkedResult(
  critiqueStep: string,
  step: string,
): { own: string; claim: string } | null {
  const worked = /^([^]*), claimed [^]*\\boxed\{/.exec(critiqueStep)?.at(1);
  if (worked === undefined) return null;
  return { own: worked === ABSENT ? ABSENT : claimOf(worked), claim: claimOf(step) };
}
