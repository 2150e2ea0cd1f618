import { expectJudged, type JudgedResponse, layOnSteps } from "./judged_response.ts";

/** The probability that an error lies in a step or before it; the judgments are means of -1 and 1. */
function errorSoFar(judgments: readonly number[], isSoft: boolean): number[] {
  let right = 1;
  return judgments.map((judgment) => {
    right *= isSoft ? (judgment + 1) / 2 : judgment < 0 ? 0 : 1;
    return 1 - right;
  });
}

/**
 * The outcome advantage of every response token, less blame for what came before the first error; one row [T]
 * per response. Where the answer is wrong and the advantage negative, a token of step k gets it times
 *
 * - hard: 0 before the first flagged step, 1 from there on; flagged is what more critiques call INCORRECT
 *   than CORRECT;
 * - soft: 1 - the product over j <= k of p_j, the share of critiques that call step j CORRECT. With one
 *   critique of each solution both are the same.
 *
 * Tokens after the last step keep it whole: that the answer is wrong is known. No weight is above 1. A wrong
 * solution of which no critique judged all steps keeps its advantage everywhere, so that not to be readable
 * does not pay. All other responses keep theirs.
 *
 * @param outcome of `outcomeAdvantages`
 * @throws Error when ends or judgments do not fit a response
 */
export function firstErrorAdvantages(
  outcome: readonly Float32Array[],
  responses: readonly JudgedResponse[],
  isSoft: boolean,
): Float32Array[] {
  expectJudged(responses);
  return outcome.map((row, i) => {
    const { isCorrect, judgments } = responses[i];
    if (isCorrect || judgments === null || !(row[0] < 0)) return row;
    const weights = layOnSteps(responses[i], errorSoFar(judgments, isSoft), 1);
    return row.map((advantage, token) => (weights[token] ?? 1) * advantage);
  });
}
