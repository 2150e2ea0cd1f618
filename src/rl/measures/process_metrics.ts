import type { ParsedCritique } from "../text/parse_critique.ts";
import { mean } from "../../base/statistics.ts";

/** How well a verifier finds the first wrong step (ProcessBench, Zheng et al. 2024). Shares from 0 to 1. */
export interface ProcessMetrics {
  /** Share of the solutions with a wrong step whose first one was named. */
  readonly erroneousAccuracy: number;
  /** Share of the solutions without a wrong step that were found right in every step. */
  readonly correctAccuracy: number;
  /** Harmonic mean of the two. */
  readonly f1: number;
}

/**
 * The place of the first step that a critique calls wrong, from 0; -1 when it calls all of them right. Null
 * when it does not judge each step: it then named none.
 */
export function firstErrorFound(
  { stepJudgments, stepCount }: Pick<ParsedCritique, "stepJudgments" | "stepCount">,
  steps: number,
): number | null {
  // A step without a readable judgment: the places of the others are not known.
  if (stepJudgments.length !== stepCount) return null;
  const first = stepJudgments.indexOf(false);
  if (first >= 0 && first < steps) return first;
  return first < 0 && stepJudgments.length === steps ? -1 : null;
}

/**
 * ProcessBench's F1 over judged solutions; 0 where one of its two kinds is missing.
 *
 * @param found by the verifier, as `firstErrorFound` tells it
 */
export function processMetrics(
  judged: readonly { readonly found: number | null; readonly firstError: number }[],
): ProcessMetrics {
  const accuracyOf = (kind: typeof judged) =>
    mean(kind.map(({ found, firstError }) => found === firstError ? 1 : 0));
  const erroneousAccuracy = accuracyOf(judged.filter(({ firstError }) => firstError >= 0));
  const correctAccuracy = accuracyOf(judged.filter(({ firstError }) => firstError < 0));
  const sum = erroneousAccuracy + correctAccuracy;
  return {
    erroneousAccuracy,
    correctAccuracy,
    f1: sum === 0 ? 0 : 2 * erroneousAccuracy * correctAccuracy / sum,
  };
}
