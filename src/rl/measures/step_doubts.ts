/** How sure a critique is of what it says of each step. */

import { lastTokenOfSpans } from "../text/token_spans.ts";

/** A critique as its verifier sampled it. L tokens. */
export interface SampledCritique {
  /** [L] the text each token added; joined, they are the critique */
  readonly tokenTexts: readonly string[];
  /** [L] */
  readonly logProbs: Float32Array;
  /** Its judgments of steps: true is CORRECT. */
  readonly stepJudgments: readonly boolean[];
  /** Where in the critique each of them begins, with its `\boxed`. */
  readonly judgmentStarts: readonly number[];
}

/**
 * P(INCORRECT) of each step judgment: of the two words one has the probability of the token with which it begins, and
 * the other what is left. So wrong steps can be told from right ones by degrees, by a single critique.
 */
export function stepDoubts(
  { tokenTexts, logProbs, stepJudgments, judgmentStarts }: SampledCritique,
): number[] {
  const words = judgmentStarts.map((start) => start + "\\boxed{".length);
  const places = lastTokenOfSpans(tokenTexts, words.map((start) => ({ start, end: start + 1 })));
  return stepJudgments.map((isCorrect, step) => {
    const said = Math.min(1, Math.exp(logProbs[places[step]]));
    return isCorrect ? 1 - said : said;
  });
}
