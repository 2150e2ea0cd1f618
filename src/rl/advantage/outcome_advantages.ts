import type { AdvantageEstimator, ScoredResponse } from "./scored_response.ts";
import { groupCentred, groupIndices, groupNormalised } from "../../base/statistics.ts";
import { whitenRows } from "./whiten.ts";

/** Per response of a group, its reward less the mean reward of the others. */
function leaveOneOut(rewards: readonly number[], group: number | string): number[] {
  if (rewards.length < 2) {
    throw new Error(
      `RLOO: group ${group} has one rollout, expected at least 2`,
    );
  }
  const sum = rewards.reduce((total, reward) => total + reward, 0);
  return rewards.map((reward) => reward - (sum - reward) / (rewards.length - 1));
}

/**
 * Advantage of every response token from the outcome rewards; one row [T] per response.
 *
 * - `grpo` (arXiv 2402.03300): (R - mean) / (std + 1e-6) of the group, with the sample std (n - 1) that
 *   torch.std gives; a group of one keeps R / (1 + 1e-6), as in veRL.
 * - `dr_grpo` (arXiv 2503.20783): R - mean of the group, not divided, so that no group counts more for
 *   being nearly all right or all wrong.
 * - `rloo` (arXiv 2402.14740): R less the mean of the group's other rewards.
 * - `reinforce++` (arXiv 2501.03262): the return R (discount 1) at every token, whitened over all
 *   response tokens of the batch. Pass the global batch, not one rank's part of it.
 *
 * @throws Error for `rloo` with a group of one.
 */
export function outcomeAdvantages(
  responses: readonly ScoredResponse[],
  estimator: AdvantageEstimator,
): Float32Array[] {
  if (estimator === "reinforce++") {
    const returns = responses.map((response) =>
      new Array<number>(response.responseLength).fill(response.reward)
    );
    return whitenRows(returns).map((row) => Float32Array.from(row));
  }
  const advantages = new Array<number>(responses.length).fill(0);
  for (const members of groupIndices(responses.map((response) => response.group))) {
    const rewards = members.map((index) => responses[index].reward);
    const inGroup = estimator === "grpo"
      ? groupNormalised(rewards)
      : estimator === "dr_grpo"
      ? groupCentred(rewards)
      : leaveOneOut(rewards, responses[members[0]].group);
    members.forEach((index, position) => advantages[index] = inGroup[position]);
  }
  return responses.map((response, index) =>
    new Float32Array(response.responseLength).fill(advantages[index])
  );
}
