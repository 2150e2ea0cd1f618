import { chooseItem } from "../../data/choose.ts";
import { corruptNumbers, type WorkedSolution } from "../../data/corrupt_numbers.ts";
import { corruptWork } from "../../data/corrupt_work.ts";
import { flipJudgments } from "../../data/coin_flips.ts";
import type { DataRecord } from "../../data/files/record.ts";
import { renderCritique, renderSolutionLines } from "../../data/solution_text.ts";
import type { Uniform } from "../../data/task.ts";
import { labelStepsBeside, workedCritique } from "../../data/worked_critique.ts";
import type { CritiqueForm, JudgmentLabels } from "../config/sft_config_schema.ts";
import type { GeneratorTemplate, VerifierTemplate } from "../../rl/prompt_template.ts";

/** A prompt and the response to imitate, as texts. */
export interface ExampleText {
  readonly prompt: string;
  readonly response: string;
}

/** Makes an example of a record; random numbers decide what a record leaves open. */
export type Wording = (record: DataRecord, uniform: Uniform) => ExampleText;

/** The solution as written, or by its steps in the generator's format. */
export function solutionWording(
  template: GeneratorTemplate,
  response: "solution" | "steps",
): Wording {
  return ({ question, solution, solutionSteps, answer }) => ({
    prompt: template.render({ question }),
    response: response === "steps"
      ? renderSolutionLines({ steps: solutionSteps ?? [], answer })
      : solution ?? "",
  });
}

/** Solutions of a problem by a generator, of the form that it is to have. */
export interface OwnSolutions {
  /** Those whose answer and steps are right. */
  readonly right: readonly WorkedSolution[];
  /** Those whose answer is wrong. */
  readonly wrong: readonly WorkedSolution[];
}

/** How critiques of solutions from files are made. */
export interface CritiqueOptions {
  /** The share of the solutions that are left right. */
  readonly correctShare: number;
  /** `coin_flip` has the judgments know nothing of the solution. */
  readonly labels: JudgmentLabels;
  /** `worked` writes the right step beside what the solution claims, and makes mistakes of every kind. */
  readonly form: CritiqueForm;
  /** A generator's own solutions by question, which stand in the place of the file's and of made-up mistakes. */
  readonly own: ReadonlyMap<string, OwnSolutions>;
}

/**
 * The critique of a solution that is right, or wrong in a number and what follows from it, or of a generator's own. With
 * the form `judgments` it says no more than its judgments.
 */
export function critiqueWording(
  template: VerifierTemplate,
  { correctShare, labels, form, own }: CritiqueOptions,
): Wording {
  const corrupt = form === "worked" ? corruptWork : corruptNumbers;
  const mistake = (right: WorkedSolution, own: readonly WorkedSolution[], uniform: Uniform) => {
    if (own.length === 0) return corrupt(right, uniform);
    const { steps, answer } = chooseItem(uniform, own);
    return { steps, answer, isRight: labelStepsBeside(right.steps, steps) };
  };
  return ({ question, solutionSteps, answer }, uniform) => {
    const right = { steps: solutionSteps ?? [], answer: answer ?? "" };
    const { right: ownRight = [], wrong: ownWrong = [] } = own.get(question) ?? {};
    const isLeftRight = uniform() < correctShare;
    const mistaken = isLeftRight ? null : mistake(right, ownWrong, uniform);
    const given = mistaken ?? (ownRight.length > 0 ? chooseItem(uniform, ownRight) : right);
    const judged = form === "worked" ? workedCritique(right, given) : {
      steps: given.steps.map((_, index) => ({
        text: `Step ${index + 1}:`,
        isCorrect: mistaken?.isRight[index] ?? true,
      })),
      verdict: given.answer === right.answer,
    };
    const critique = labels === "gold" ? judged : flipJudgments(judged, uniform);
    const solution = renderSolutionLines(given);
    return {
      prompt: template.render({ question, solution, steps: given.steps.length }),
      response: renderCritique(critique),
    };
  };
}
