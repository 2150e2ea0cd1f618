import { cautiousError, mean } from "../../base/statistics.ts";
import { firstErrorFound, processMetrics } from "../../rl/measures/process_metrics.ts";
import { parseCritique } from "../../rl/text/parse_critique.ts";
import type { WrittenAnswer } from "../answers/answers_log.ts";
import type { LabelledRecord } from "../tango/process_evaluation.ts";
import type { Share } from "./grade_answers.ts";

/** What a verifier's critiques of written solutions are worth. */
export interface GradedCritiques {
  /** Harmonic mean of the two below; null where one of them is. */
  readonly f1: Share | null;
  /** Of the solutions with a wrong step, those whose first one was named; null where there is no such solution. */
  readonly erroneous: Share | null;
  /** Of those without, the ones found right in every step; null as well. */
  readonly correct: Share | null;
  /** Share of the solutions of which not every step was judged; they count as wrong. */
  readonly unjudged: number;
  readonly cutOff: number;
}

/** Reads one critique of each solution; a solution without any, which did not fit the model, counts as wrong. */
export function gradeCritiques(
  records: readonly LabelledRecord[],
  answers: readonly (readonly WrittenAnswer[])[],
): GradedCritiques {
  const judged = records.map(({ judged: { steps, firstError } }, r) => {
    const [critique] = answers[r];
    const found = critique ? firstErrorFound(parseCritique(critique.text), steps.length) : null;
    return { found, firstError };
  });
  const { f1, erroneousAccuracy, correctAccuracy } = processMetrics(judged);
  const share = (value: number, isErroneous: boolean): Share | null => {
    const kind = judged.filter(({ firstError }) => firstError >= 0 === isErroneous);
    return kind.length === 0 ? null : {
      value,
      error: cautiousError(kind.map(({ found, firstError }) => found === firstError ? 1 : 0)),
    };
  };
  const erroneous = share(erroneousAccuracy, true), correct = share(correctAccuracy, false);
  return {
    f1: erroneous && correct && { value: f1, error: harmonicError(erroneous, correct) },
    erroneous,
    correct,
    unjudged: mean(judged.map(({ found }) => found === null ? 1 : 0)),
    cutOff: mean(answers.flat().map(({ isFinished }) => isFinished ? 0 : 1)),
  };
}

/** Standard error of 2ab/(a+b) by its derivatives 2b²/(a+b)² and 2a²/(a+b)²; 0/0 is taken as at a = b. */
function harmonicError(a: Share, b: Share): number {
  const sum = a.value + b.value;
  const [ofA, ofB] = sum === 0 ? [0.5, 0.5] : [b.value, a.value].map((v) => 2 * (v / sum) ** 2);
  return Math.hypot(ofA * a.error, ofB * b.error);
}
