import { groupCentred, groupIndices, groupNormalised, mean } from "../../base/statistics.ts";
import { expectJudged, type JudgedResponse, layOnSteps } from "./judged_response.ts";
import { countedJudgments } from "./own_step.ts";
import type { AdvantageEstimator } from "./scored_response.ts";
import { whitenRows } from "./whiten.ts";

/** What a merged reward is made of: `outcome` * the outcome reward + `process` * what a token has of the steps. */
export interface MergedShares {
  readonly outcome: number;
  readonly process: number;
}

/** What the tokens of each of the K steps have of the steps, and those after the last one. */
interface OfSteps {
  /** [K] */
  readonly steps: readonly number[];
  readonly after: number;
}

/** The judgment of a token's own step; what is missing counts as wrong, and so do a wrong answer's unread steps. */
function ownStep(response: JudgedResponse, isUntilError: boolean): OfSteps {
  const { steps, missing } = countedJudgments(response, isUntilError);
  return {
    steps: response.ownStepEnds.map((_, step) => steps[step] ?? 0),
    after: missing[0] ?? 0,
  };
}

/** The sum of the rewards of the steps that end at or after a token. */
function sumToGo({ stepRewards, ownStepEnds }: JudgedResponse): OfSteps {
  const toGo = stepRewards.toReversed().reduce<number[]>(
    (sums, reward) => [...sums, (sums.at(-1) ?? 0) + reward],
    [],
  ).toReversed();
  return { steps: toGo.length > 0 ? toGo : ownStepEnds.map(() => 0), after: 0 };
}

/** Each response's values less the mean of those of the group's other responses; 0 without others. */
function lessTheOthers(group: readonly (readonly number[])[]): number[][] {
  return group.map((own) => {
    const others = group.filter((other) => other !== own).flat();
    return own.map((value) => others.length === 0 ? 0 : value - mean(others));
  });
}

/** Values of a group, all shifted, and perhaps scaled, together. */
function together(
  group: readonly (readonly number[])[],
  adjust: (values: readonly number[]) => number[],
): number[][] {
  const adjusted = adjust(group.flat());
  let next = 0;
  return group.map(({ length }) => adjusted.slice(next, next += length));
}

/**
 * Advantage of every response token where outcome and step rewards are mixed before they are compared: one row [T]
 * per response. A response with K steps has K + 1 rewards, one for the tokens of each step and one for those after
 * the last, each the outcome share of its outcome reward plus the process share of what these tokens have of the
 * steps.
 *
 * - `grpo`: all rewards of the group by their own mean and sample std.
 * - `dr_grpo`: less their mean.
 * - `rloo`: each less the mean reward of the group's other responses.
 * - `reinforce++`: laid on the tokens and whitened over those of the batch. Pass the global batch.
 *
 * @throws Error when ends or judgments do not fit a response
 */
export function mergedAdvantages(
  responses: readonly JudgedResponse[],
  estimator: AdvantageEstimator,
  process: "sum-to-go" | "own-step" | "until-error",
  shares: MergedShares,
): Float32Array[] {
  expectJudged(responses);
  const rewards = responses.map((response) => {
    const { steps, after } = process === "sum-to-go"
      ? sumToGo(response)
      : ownStep(response, process === "until-error");
    return [...steps, after].map((ofSteps) =>
      shares.outcome * response.reward + shares.process * ofSteps
    );
  });
  const lay = (i: number, values: readonly number[]) =>
    layOnSteps(responses[i], values.slice(0, -1), values[values.length - 1])
      .map((value) => value ?? 0);
  if (estimator === "reinforce++") {
    return whitenRows(rewards.map((own, i) => lay(i, own))).map((row) => Float32Array.from(row));
  }
  const adjust = estimator === "grpo" ? groupNormalised : groupCentred;
  const rows = new Array<Float32Array>(responses.length);
  for (const members of groupIndices(responses.map(({ group }) => group))) {
    const group = members.map((i) => rewards[i]);
    const adjusted = estimator === "rloo" ? lessTheOthers(group) : together(group, adjust);
    members.forEach((i, position) => rows[i] = Float32Array.from(lay(i, adjusted[position])));
  }
  return rows;
}
