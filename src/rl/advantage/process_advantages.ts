import type { AdvantageEstimator, ScoredResponse } from "./scored_response.ts";
import { groupCentred, groupIndices, groupNormalised, mean } from "../../base/statistics.ts";
import { whitenRows } from "./whiten.ts";

/** Per token, the sum of the rewards of the steps that end at or after it. */
function returnsToGo(response: ScoredResponse, rewards: readonly number[]): number[] {
  const returns = new Array<number>(response.responseLength).fill(0);
  let sum = 0;
  let step = rewards.length - 1;
  for (let token = response.responseLength - 1; token >= 0; token--) {
    while (step >= 0 && response.stepEndTokens[step] >= token) sum += rewards[step--];
    returns[token] = sum;
  }
  return returns;
}

/** Step rewards of a group, all shifted, and perhaps scaled, together. */
function adjustedSteps(
  group: readonly ScoredResponse[],
  adjust: (rewards: readonly number[]) => number[],
): number[][] {
  const adjusted = adjust(group.flatMap((response) => response.stepRewards));
  let offset = 0;
  return group.map((response) => adjusted.slice(offset, offset += response.stepRewards.length));
}

/** Each step reward less the mean step reward of the group's other responses; 0 without others. */
function leaveOneOutSteps(group: readonly ScoredResponse[]): number[][] {
  return group.map((response) => {
    const others = group.filter((other) => other !== response)
      .flatMap((other) => other.stepRewards);
    const baseline = mean(others);
    return response.stepRewards.map((reward) => others.length === 0 ? 0 : reward - baseline);
  });
}

function validate(response: ScoredResponse, index: number): void {
  const { stepEndTokens, stepRewards, responseLength } = response;
  const ascending = stepEndTokens.every((token, step) =>
    token >= (step === 0 ? 0 : stepEndTokens[step - 1]) && token < responseLength
  );
  if (stepEndTokens.length !== stepRewards.length || !ascending) {
    throw new Error(
      `response ${index}: expected one ascending end token below ${responseLength} for each of ` +
        `its ${stepRewards.length} step rewards, found [${stepEndTokens.join(", ")}]`,
    );
  }
}

/**
 * Advantage of every response token from the step rewards; one row [T] per response. A token gets the
 * sum over the steps that end at or after it, so tokens after the last step get 0 (before whitening).
 *
 * - `grpo`: process supervision of arXiv 2402.03300: all step rewards of the group are normalised by
 *   their own mean and sample std first.
 * - `dr_grpo`: the same without the division by the std.
 * - `rloo`: each step reward less the mean step reward of the group's other responses; 0 when no other
 *   response has any, since there is no baseline then.
 * - `reinforce++`: the sums of raw step rewards, whitened over the tokens of all responses of the batch
 *   that have step rewards. Pass the global batch.
 *
 * A response without step rewards gets 0 everywhere under each estimator.
 * @throws Error when step end tokens do not fit the step rewards or the response.
 */
export function processAdvantages(
  responses: readonly ScoredResponse[],
  estimator: AdvantageEstimator,
): Float32Array[] {
  responses.forEach(validate);
  const advantages = responses.map((response) => new Float32Array(response.responseLength));
  if (estimator === "reinforce++") {
    const judged = responses.keys().filter((index) => responses[index].stepRewards.length > 0)
      .toArray();
    const whitened = whitenRows(
      judged.map((index) => returnsToGo(responses[index], responses[index].stepRewards)),
    );
    judged.forEach((index, position) => advantages[index].set(whitened[position]));
    return advantages;
  }
  const adjust = (group: readonly ScoredResponse[]) =>
    estimator === "rloo"
      ? leaveOneOutSteps(group)
      : adjustedSteps(group, estimator === "grpo" ? groupNormalised : groupCentred);
  for (const members of groupIndices(responses.map((response) => response.group))) {
    const adjusted = adjust(members.map((index) => responses[index]));
    members.forEach((index, position) =>
      advantages[index].set(returnsToGo(responses[index], adjusted[position]))
    );
  }
  return advantages;
}
