import { groupCentred, groupIndices, groupNormalised, mean } from "../../base/statistics.ts";
import { expectJudged, type JudgedResponse, layOnSteps } from "./judged_response.ts";
import type { AdvantageEstimator } from "./scored_response.ts";
import { whitenRows } from "./whiten.ts";

const WRONG = -1;

/** What is said of a response: own-step credit is made of it. */
export interface CountedJudgments {
  /** Judgments of the first steps, of all that count. */
  readonly steps: readonly number[];
  /** One of -1 for each step that is missing. */
  readonly missing: readonly number[];
}

export function countedJudgments(
  { isCorrect, judgments, ownStepEnds, missingSteps }: JudgedResponse,
  isUntilError: boolean,
): CountedJudgments {
  const steps = judgments ?? (isCorrect ? [] : ownStepEnds.map(() => WRONG));
  const missing = new Array<number>(missingSteps).fill(WRONG);
  const error = isUntilError ? steps.findIndex((judgment) => judgment < 0) : -1;
  return error < 0 ? { steps, missing } : { steps: steps.slice(0, error + 1), missing: [] };
}

const all = ({ steps, missing }: CountedJudgments) => [...steps, ...missing];

/** A group's judgments, each less the mean of those of the other responses; 0 without others. */
function lessTheOthers(group: readonly CountedJudgments[]): CountedJudgments[] {
  return group.map((own) => {
    const others = group.filter((other) => other !== own).flatMap(all);
    const baseline = mean(others);
    const adjust = (judgment: number) => others.length === 0 ? 0 : judgment - baseline;
    return { steps: own.steps.map(adjust), missing: own.missing.map(adjust) };
  });
}

/** A group's judgments, all shifted, and perhaps scaled, together. */
function adjustedTogether(
  group: readonly CountedJudgments[],
  adjust: (judgments: readonly number[]) => number[],
): CountedJudgments[] {
  const adjusted = adjust(group.flatMap(all));
  let next = 0;
  return group.map(({ steps, missing }) => ({
    steps: adjusted.slice(next, next += steps.length),
    missing: adjusted.slice(next, next += missing.length),
  }));
}

/**
 * Advantage of every response token from the judgment of its own step alone; one row [T] per response. The
 * judgments are not divided by the number of steps. Each missing step is one more judgment of -1; these take
 * part in the standardisation one by one and lie on the tokens after the last step, which get their common
 * value once. Without missing steps those tokens get 0.
 *
 * A solution of which no critique judged all steps goes by its answer: a wrong one counts as flagged in each
 * step, so that it cannot hide; a right one, which need not, gets 0 for its steps and takes no part.
 *
 * With `isUntilError` nothing is said of what comes after the first flagged step of a solution, which follows from
 * it: these tokens get 0 and no judgment, and no missing step is counted.
 *
 * - `grpo`: all judgments of the group by their own mean and sample std.
 * - `dr_grpo`: less their mean.
 * - `rloo`: each less the mean judgment of the group's other responses.
 * - `reinforce++`: the judgments laid on the tokens, -1 after the last step where steps are missing, whitened
 *   over all these tokens of the batch. Pass the global batch.
 *
 * @throws Error when ends or judgments do not fit a response
 */
export function ownStepAdvantages(
  responses: readonly JudgedResponse[],
  estimator: AdvantageEstimator,
  isUntilError = false,
): Float32Array[] {
  expectJudged(responses);
  const judged = responses.map((response) => countedJudgments(response, isUntilError));
  const advantages = responses.map(({ responseLength }) => new Float32Array(responseLength));
  const lay = (i: number, { steps, missing }: CountedJudgments) =>
    layOnSteps(responses[i], steps, missing[0] ?? null);
  if (estimator === "reinforce++") {
    const laid = judged.map((one, i) => lay(i, one));
    const whitened = whitenRows(laid.map((row) => row.filter((value) => value !== null)));
    laid.forEach((row, i) => {
      let next = 0;
      advantages[i].set(row.map((value) => value === null ? 0 : whitened[i][next++]));
    });
    return advantages;
  }
  const adjust = estimator === "grpo" ? groupNormalised : groupCentred;
  for (const members of groupIndices(responses.map(({ group }) => group))) {
    const group = members.map((i) => judged[i]);
    const adjusted = estimator === "rloo" ? lessTheOthers(group) : adjustedTogether(group, adjust);
    members.forEach((i, position) =>
      advantages[i].set(lay(i, adjusted[position]).map((value) => value ?? 0))
    );
  }
  return advantages;
}
