import type { ScoredResponse } from "./scored_response.ts";
import type { StepJudgments } from "./step_judgments.ts";

/** A rewarded response with judgments of its K steps. */
export interface JudgedResponse extends ScoredResponse {
  /** Whether its answer is right. */
  readonly isCorrect: boolean;
  readonly judgments: StepJudgments;
  /** Response token that ends each of the K steps, ascending. */
  readonly ownStepEnds: readonly number[];
  /** Steps that the problem needs and the solution lacks. */
  readonly missingSteps: number;
  /** [T] rewards of the tokens; null where none has one. */
  readonly tokenRewards: Float64Array | null;
}

/**
 * A number for each token: the value of its own step, which holds the tokens from the end of the step before
 * (exclusive) to its own end, and `after` for those after the last step. Null where there is none, and for steps beyond the values.
 */
export function layOnSteps(
  { responseLength, ownStepEnds }: JudgedResponse,
  values: readonly number[] | null,
  after: number | null,
): (number | null)[] {
  let step = 0;
  return Array.from({ length: responseLength }, (_, token) => {
    while (step < ownStepEnds.length && ownStepEnds[step] < token) step++;
    return step === ownStepEnds.length ? after : values?.[step] ?? null;
  });
}

/** @throws Error when a response's ends and judgments are not those of its steps */
export function expectJudged(responses: readonly JudgedResponse[]): void {
  responses.forEach(({ ownStepEnds, judgments, responseLength }, index) => {
    const ascending = ownStepEnds.every((token, step) =>
      token >= (step === 0 ? 0 : ownStepEnds[step - 1]) && token < responseLength
    );
    if (ascending && (judgments === null || judgments.length === ownStepEnds.length)) return;
    throw new Error(
      `response ${index}: expected an ascending end token below ${responseLength} and a judgment for each ` +
        `step, found [${ownStepEnds.join(", ")}] and [${judgments?.join(", ")}]`,
    );
  });
}
