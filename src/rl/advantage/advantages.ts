import { firstErrorAdvantages } from "./first_error.ts";
import type { JudgedResponse } from "./judged_response.ts";
import { mergedAdvantages } from "./merged.ts";
import { outcomeAdvantages } from "./outcome_advantages.ts";
import { countedJudgments, ownStepAdvantages } from "./own_step.ts";
import { processAdvantages } from "./process_advantages.ts";
import type { AdvantageEstimator, ScoredResponse } from "./scored_response.ts";
import { tokenAdvantages } from "./token_advantages.ts";

/** How the outcome and the process part are mixed. */
export interface AdvantageWeights {
  /** Share of the process part, in [0, 1]. */
  alpha: number;
  outcomeWeight: number;
  processWeight: number;
}

/**
 * (1 - alpha) * outcomeWeight * outcome + alpha * processWeight * process, token by token.
 * @param outcome one row [T] per response; `process` has the same shape.
 */
export function combineAdvantages(
  outcome: readonly Float32Array[],
  process: readonly Float32Array[],
  weights: AdvantageWeights,
): Float32Array[] {
  const outcomeShare = (1 - weights.alpha) * weights.outcomeWeight;
  const processShare = weights.alpha * weights.processWeight;
  return outcome.map((row, index) =>
    row.map((value, token) => outcomeShare * value + processShare * process[index][token])
  );
}

/**
 * Advantage of every response token, one row [T] per response, from outcome and step rewards (RL Tango,
 * arXiv 2505.15034). A verifier, and a generator without step rewards, uses alpha 0.
 * @param responses the global batch.
 * @throws Error as `outcomeAdvantages` and `processAdvantages` do.
 */
export function tangoAdvantages(
  responses: readonly ScoredResponse[],
  estimator: AdvantageEstimator,
  weights: AdvantageWeights,
): Float32Array[] {
  return combineAdvantages(
    outcomeAdvantages(responses, estimator),
    processAdvantages(responses, estimator),
    weights,
  );
}

/**
 * The form of the process advantage: the sum of the rewards of the steps that end at or after a token, the judgment of
 * its own step, the same up to the first error, the outcome advantage without blame for what came before it, or the sum
 * of the rewards of the tokens from it on.
 */
export type ProcessForm =
  | "sum-to-go"
  | "own-step"
  | "until-error"
  | "first-error"
  | "first-error-soft"
  | "token-to-go";

/**
 * Whether outcome and step rewards are each compared within the group and then mixed, as published, or mixed first.
 */
export type Normalisation = "separate" | "merged";

/** How step judgments become advantages. */
export interface CreditOptions extends AdvantageWeights {
  readonly estimator: AdvantageEstimator;
  readonly process: ProcessForm;
  readonly normalisation: Normalisation;
}

/** Advantage of every response token, one row [T] per response. */
export interface CreditedAdvantages {
  readonly combined: readonly Float32Array[];
  /**
   * The outcome part's contribution to the tokens of its steps, one number for each response; where the parts are
   * merged, what a token after the last step has.
   */
  readonly ofOutcome: readonly number[];
}

/**
 * The same with the whole outcome advantage, not the share that α leaves of it, on the tokens after the last step, and
 * after the first flagged one where nothing is said of the rest. No judgment speaks of these: with α near 1 nothing else
 * would hold the answer, and where the response ends.
 */
function withOutcomeAfterJudged(
  mixed: readonly Float32Array[],
  outcome: readonly Float32Array[],
  responses: readonly JudgedResponse[],
  isUntilError: boolean,
  { alpha, outcomeWeight }: AdvantageWeights,
): Float32Array[] {
  return mixed.map((row, i) => {
    const counted = countedJudgments(responses[i], isUntilError).steps;
    const error = isUntilError ? counted.findIndex((judgment) => judgment < 0) : -1;
    const lastJudged = responses[i].ownStepEnds.at(error) ?? -1;
    return row.map((value, token) =>
      token > lastJudged ? value + alpha * outcomeWeight * outcome[i][token] : value
    );
  });
}

/**
 * Advantages whose process part has the given form.
 *
 * @param responses the global batch
 * @throws Error as the functions of the forms do, and when merged for a form without rewards of steps
 */
export function creditedAdvantages(
  responses: readonly JudgedResponse[],
  { estimator, process, normalisation, ...weights }: CreditOptions,
): CreditedAdvantages {
  if (normalisation === "merged") {
    if (process === "first-error" || process === "first-error-soft" || process === "token-to-go") {
      throw new Error(`${process} credit has no rewards of steps to merge`);
    }
    const combined = mergedAdvantages(responses, estimator, process, {
      outcome: (1 - weights.alpha) * weights.outcomeWeight,
      process: weights.alpha * weights.processWeight,
    });
    return { combined, ofOutcome: combined.map((row) => row[row.length - 1]) };
  }
  const isUntilError = process === "until-error";
  const outcome = outcomeAdvantages(responses, estimator);
  const mixed = combineAdvantages(outcome, processPart(), weights);
  const combined = process === "own-step" || isUntilError
    ? withOutcomeAfterJudged(mixed, outcome, responses, isUntilError, weights)
    : mixed;
  // The published form gives the last token nothing else, but for REINFORCE++'s whitening.
  const ofOutcome = process === "sum-to-go"
    ? combined.map((row) => row[row.length - 1])
    : outcome.map((row) => Math.fround((1 - weights.alpha) * weights.outcomeWeight * row[0]));
  return { combined, ofOutcome };

  function processPart(): Float32Array[] {
    switch (process) {
      case "sum-to-go":
        return processAdvantages(responses, estimator);
      case "own-step":
      case "until-error":
        return ownStepAdvantages(responses, estimator, isUntilError);
      case "token-to-go":
        return tokenAdvantages(
          responses.map(({ group, responseLength, tokenRewards }) => ({
            group,
            tokenRewards: tokenRewards ?? new Float64Array(responseLength),
          })),
          estimator,
        );
      default:
        return firstErrorAdvantages(outcome, responses, process === "first-error-soft");
    }
  }
}
