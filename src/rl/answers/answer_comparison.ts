import { equalLiterals } from "./compare_literal.ts";
import { equalTexts } from "./compare_text.ts";
import { equalMathematics } from "./equal_mathematics.ts";

/** How a task's answers are compared: as mathematics, as words, or as Python literals. */
export type AnswerComparison = "math" | "text" | "literal";

/**
 * Whether an answer equals the reference. Never throws. For trusted input: hostile mathematics may run
 * for long, which `AnswerJudge` prevents.
 */
export function compareAnswers(kind: AnswerComparison, answer: string, reference: string): boolean {
  switch (kind) {
    case "math":
      return equalMathematics(answer, reference);
    case "text":
      return equalTexts(answer, reference);
    case "literal":
      return equalLiterals(answer, reference);
  }
}
