import { outcomeAdvantages } from "./outcome_advantages.ts";
import { processAdvantages } from "./process_advantages.ts";
import type { AdvantageEstimator, ScoredResponse } from "./scored_response.ts";

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
