/** What the tokens of a critique's own steps have to do with whether each judgment is right. */

import { mean } from "../../base/statistics.ts";
import { outcomeAdvantages } from "./outcome_advantages.ts";
import type { AdvantageEstimator } from "./scored_response.ts";

/** A critique of a solution with K steps, by what its step judgments earn. T tokens. */
export interface StepJudged {
  /** The judged solution. */
  readonly group: number;
  /** T */
  readonly responseLength: number;
  /** [K] earned for the judgment of each step; all 0 when it does not judge exactly K steps. */
  readonly rewards: readonly number[];
  /** [K] weight of each judgment's advantage */
  readonly weights: readonly number[];
  /**
   * [K] the tokens of the critique's k-th step, both included, and the first of them that the judgment's advantage is
   * for; null when it does not judge exactly K steps.
   */
  readonly spans:
    | readonly { readonly first: number; readonly last: number; readonly paid: number }[]
    | null;
}

/**
 * Advantage of each token from the judgment of its own step, which is compared with the other critiques' judgments of
 * the same step; one row [T] per critique, null for tokens that belong to no step, 0 for those of a step before the paid
 * ones. All tokens of a critique that does
 * not judge each step get the mean over the steps: it has earned nothing for any of them.
 */
export function stepCredit(
  critiques: readonly StepJudged[],
  estimator: AdvantageEstimator,
): (number | null)[][] {
  const boxes = critiques.flatMap(({ group, rewards }) =>
    rewards.map((reward, step) => ({
      group: `${group}/${step}`,
      responseLength: 1,
      reward,
      stepRewards: [],
      stepEndTokens: [],
    }))
  );
  const advantages = outcomeAdvantages(boxes, estimator);
  let next = 0;
  return critiques.map(({ responseLength, rewards, weights, spans }) => {
    const own = rewards.map((_, step) => advantages[next++][0] * weights[step]);
    const elsewhere = spans === null && own.length > 0 ? mean(own) : null;
    const row = new Array<number | null>(responseLength).fill(elsewhere);
    spans?.forEach(({ first, last, paid }, step) =>
      row.fill(0, first, paid).fill(own[step], paid, last + 1)
    );
    return row;
  });
}

/**
 * Outcome advantages in which the tokens of steps get (1 - share) * outcome + share * credit.
 *
 * @param credit of the same shape, as `stepCredit` gives it
 */
export function withStepCredit(
  outcome: readonly Float32Array[],
  credit: readonly (readonly (number | null)[])[],
  share: number,
): Float32Array[] {
  return outcome.map((row, i) =>
    row.map((value, token) => {
      const own = credit[i][token];
      return own === null ? value : (1 - share) * value + share * own;
    })
  );
}
