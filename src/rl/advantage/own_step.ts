import { groupCentred, groupIndices, groupNormalised, mean } from "../../base/statistics.ts";
import { expectJudged, type JudgedResponse, layOnSteps } from "./judged_response.ts";
import type { AdvantageEstimator } from "./scored_response.ts";
import { whitenRows } from "./whiten.ts";

const WRONG = -1;

/** What is said of a response. */
interface Counted {
  /** A judgment of each step; null when nothing is said of any. */
  readonly steps: readonly number[] | null;
  /** One of -1 for each step that is missing. */
  readonly missing: readonly number[];
}

function counted({ isCorrect, judgments, ownStepEnds, missingSteps }: JudgedResponse): Counted {
  const unread = isCorrect ? null : ownStepEnds.map(() => WRONG);
  return { steps: judgments ?? unread, missing: new Array<number>(missingSteps).fill(WRONG) };
}

const all = ({ steps, missing }: Counted) => [...(steps ?? []), ...missing];

/** A group's judgments, each less the mean of those of the other responses; 0 without others. */
function lessTheOthers(group: readonly Counted[]): Counted[] {
  return group.map((own) => {
    const others = group.filter((other) => other !== own).flatMap(all);
    const baseline = mean(others);
    const adjust = (judgment: number) => others.length === 0 ? 0 : judgment - baseline;
    return { steps: own.steps && own.steps.map(adjust), missing: own.missing.map(adjust) };
  });
}

/** A group's judgments, all shifted, and perhaps scaled, together. */
function adjustedTogether(
  group: readonly Counted[],
  adjust: (judgments: readonly number[]) => number[],
): Counted[] {
  const adjusted = adjust(group.flatMap(all));
  let next = 0;
  return group.map(({ steps, missing }) => ({
    steps: steps && adjusted.slice(next, next += steps.length),
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
): Float32Array[] {
  expectJudged(responses);
  const judged = responses.map(counted);
  const advantages = responses.map(({ responseLength }) => new Float32Array(responseLength));
  const lay = (i: number, { steps, missing }: Counted) =>
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
