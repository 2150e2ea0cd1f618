import { groupCentred, groupIndices, groupNormalised, mean } from "../../base/statistics.ts";
import type { AdvantageEstimator } from "./scored_response.ts";
import { whitenRows } from "./whiten.ts";

/** A response each of whose tokens has a reward. T tokens. */
export interface TokenRewarded {
  /** Identifies the problem. */
  readonly group: number | string;
  /** [T] */
  readonly tokenRewards: ArrayLike<number>;
}

/**
 * Advantage of every response token from rewards of tokens; one row [T] per response. A token gets the sum over the
 * rewards from it to the end.
 *
 * - `rloo`: each reward first less the mean, over the group's other responses, of the mean reward of their tokens
 *   (PRIME, arXiv 2502.01456, equation 5 without discount); unchanged without others.
 * - `grpo`: all rewards of the group's tokens normalised by their own mean and sample std first.
 * - `dr_grpo`: the same without the division by the std.
 * - `reinforce++`: the sums of raw rewards, whitened over the tokens of the batch. Pass the global batch.
 */
export function tokenAdvantages(
  responses: readonly TokenRewarded[],
  estimator: AdvantageEstimator,
): Float32Array[] {
  if (estimator === "reinforce++") {
    const returns = responses.map(({ tokenRewards }) => toGo(Array.from(tokenRewards)));
    return whitenRows(returns).map((row) => Float32Array.from(row));
  }
  const adjust = estimator === "rloo"
    ? leaveOneOut
    : adjustedTogether(estimator === "grpo" ? groupNormalised : groupCentred);
  const advantages = new Array<Float32Array>(responses.length);
  for (const members of groupIndices(responses.map(({ group }) => group))) {
    const rewards = adjust(members.map((index) => Array.from(responses[index].tokenRewards)));
    members.forEach((index, place) => advantages[index] = Float32Array.from(toGo(rewards[place])));
  }
  return advantages;
}

/** Sums from each place to the end. */
function toGo(rewards: readonly number[]): number[] {
  const sums = new Array<number>(rewards.length);
  let sum = 0;
  for (let token = rewards.length - 1; token >= 0; token--) sums[token] = sum += rewards[token];
  return sums;
}

function leaveOneOut(group: readonly (readonly number[])[]): number[][] {
  const means = group.map((rewards) => rewards.length === 0 ? 0 : mean(rewards));
  return group.map((rewards, own) => {
    const others = means.filter((_, index) => index !== own);
    const baseline = others.length === 0 ? 0 : mean(others);
    return rewards.map((reward) => reward - baseline);
  });
}

function adjustedTogether(adjust: (rewards: readonly number[]) => number[]) {
  return (group: readonly (readonly number[])[]): number[][] => {
    const adjusted = adjust(group.flat());
    let offset = 0;
    return group.map(({ length }) => adjusted.slice(offset, offset += length));
  };
}
