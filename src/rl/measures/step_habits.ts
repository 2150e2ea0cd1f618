import { mean } from "../../base/statistics.ts";

/** A solution, as its steps are counted. */
export interface SteppedSolution {
  readonly question: string;
  readonly steps: readonly string[];
  /** The whole response. */
  readonly text: string;
  /** The response token that ends each step. */
  readonly stepEndTokens: readonly number[];
  /** Steps that the problem is thought to need. */
  readonly expectedSteps: number;
}

/** Ways in which solutions that are rewarded step by step may cheat; shares from 0 to 1. */
export interface StepHabits {
  /** Share of solutions with more, and with fewer steps than expected. */
  readonly moreShare: number;
  readonly fewerShare: number;
  /** Share of steps without a letter or digit. */
  readonly emptyShare: number;
  /** Share of steps that stand in the question, or are an earlier one, but for white space and the mark at the end. */
  readonly repeatedShare: number;
  /** Share of solutions with more than white space after their first answer. */
  readonly trailingShare: number;
  /** Mean tokens from the end of the step before to a step's own. */
  readonly meanTokens: number;
}

const squeezed = (text: string) => text.trim().replace(/\s+/g, " ").replace(/ ?[.?!,;:]$/, "");
const isEmpty = (step: string) => !/[\p{L}\p{N}]/u.test(step);
const goesOn = (text: string) => /<\/answer>\s*\S/.test(text);
const share = (values: readonly boolean[]) => mean(values.map((value) => value ? 1 : 0));

/** Counts over a batch; 0 where there is nothing to count. An empty step is not also a repeated one. */
export function stepHabits(solutions: readonly SteppedSolution[]): StepHabits {
  const repeated = solutions.flatMap(({ question, steps }) => {
    const asked = squeezed(question);
    const seen = new Set<string>();
    return steps.map(squeezed).map((step) => {
      const isRepeated = !isEmpty(step) && (seen.has(step) || asked.includes(step));
      seen.add(step);
      return isRepeated;
    });
  });
  const tokens = solutions.flatMap(({ stepEndTokens }) =>
    stepEndTokens.map((end, step) => end - (step === 0 ? -1 : stepEndTokens[step - 1]))
  );
  return {
    moreShare: share(solutions.map((one) => one.steps.length > one.expectedSteps)),
    fewerShare: share(solutions.map((one) => one.steps.length < one.expectedSteps)),
    emptyShare: share(solutions.flatMap(({ steps }) => steps.map(isEmpty))),
    repeatedShare: share(repeated),
    trailingShare: share(solutions.map(({ text }) => goesOn(text))),
    meanTokens: mean(tokens),
  };
}
