import type { Problem, SolutionParts } from "./task.ts";

/** The correct solution of a problem by its parts. */
export function correctSolution(problem: Problem): { steps: string[]; answer: string } {
  return { steps: [...problem.goldSteps], answer: problem.answer };
}

/** A solution in the generator's format: one line, no text between tags. */
export function renderSolution(solution: SolutionParts): string {
  const steps = solution.steps.map((step) => `<step>${step}</step>`).join("");
  return `<think>${steps}</think><answer>\\boxed{${solution.answer ?? ""}}</answer>`;
}

/** A solution in the generator's format with a line for each step, as language models are used to it. */
export function renderSolutionLines(solution: SolutionParts): string {
  return `${renderSteps(solution.steps)}\n<answer>\\boxed{${solution.answer ?? ""}}</answer>`;
}

/** The steps alone, of a solution whose answer is in its last step. */
export function renderSteps(steps: readonly string[]): string {
  return `<think>\n${steps.map((step) => `<step>${step}</step>\n`).join("")}</think>`;
}

/** A step judgment: what the verifier writes about the step, and its verdict. */
export interface StepJudgment {
  readonly text: string;
  readonly isCorrect: boolean;
}

/** A critique by its parts. */
export interface CritiqueParts {
  readonly steps: readonly StepJudgment[];
  /** Verdict on the answer. */
  readonly verdict: boolean;
}

/** A critique in the verifier's format: one line, no text between tags. */
export function renderCritique({ steps, verdict }: CritiqueParts): string {
  const judged = steps.map(({ text, isCorrect }) => `<step>${text} ${judgment(isCorrect)}</step>`);
  return `<step_verification>${judged.join("")}</step_verification>` +
    `<final_verification>${judgment(verdict)}</final_verification>`;
}

function judgment(isCorrect: boolean): string {
  return `\\boxed{${isCorrect ? "CORRECT" : "INCORRECT"}}`;
}
