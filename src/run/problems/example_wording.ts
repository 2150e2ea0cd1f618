import { corruptNumbers } from "../../data/corrupt_numbers.ts";
import { flipJudgments } from "../../data/coin_flips.ts";
import type { DataRecord } from "../../data/files/record.ts";
import { renderCritique, renderSolutionLines } from "../../data/solution_text.ts";
import type { Uniform } from "../../data/task.ts";
import type { JudgmentLabels } from "../config/sft_config_schema.ts";
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

/**
 * The critique of a solution that is right, or wrong in a number and what follows from it. It says no more
 * than its judgments: why a step of any solution is wrong cannot be told from the record.
 *
 * @param correctShare how many of the solutions are left right
 * @param labels `coin_flip` has the judgments know nothing of the solution
 */
export function critiqueWording(
  template: VerifierTemplate,
  correctShare: number,
  labels: JudgmentLabels,
): Wording {
  return ({ question, solutionSteps, answer }, uniform) => {
    const right = { steps: solutionSteps ?? [], answer: answer ?? "" };
    const mistaken = uniform() < correctShare ? null : corruptNumbers(right, uniform);
    const { steps, answer: given } = mistaken ?? right;
    const judged = {
      steps: steps.map((_, index) => ({
        text: `Step ${index + 1}:`,
        isCorrect: mistaken?.isRight[index] ?? true,
      })),
      verdict: given === right.answer,
    };
    const critique = labels === "gold" ? judged : flipJudgments(judged, uniform);
    const solution = renderSolutionLines({ steps, answer: given });
    return {
      prompt: template.render({ question, solution, steps: steps.length }),
      response: renderCritique(critique),
    };
  };
}
