import assert from "node:assert/strict";
import type { JudgedResponse } from "../../../src/rl/advantage/judged_response.ts";

/** A wrong response of group 0 with as many judgments as ends, unless told otherwise. */
export function judged(
  responseLength: number,
  ownStepEnds: number[],
  judgments: number[] | null,
  changes: Partial<JudgedResponse> = {},
): JudgedResponse {
  return {
    group: 0,
    responseLength,
    reward: 0,
    stepRewards: [],
    stepEndTokens: [],
    isCorrect: false,
    judgments,
    ownStepEnds,
    missingSteps: 0,
    tokenRewards: null,
    ...changes,
  };
}

/** Float32 of numbers near 1 computed in float64: half an ulp is 6e-8. */
export function assertClose(actual: ArrayLike<number>, expected: readonly number[]): void {
  assert.equal(actual.length, expected.length);
  expected.forEach((value, i) =>
    assert.ok(
      Math.abs(actual[i] - value) <= 1e-6 * Math.max(1, Math.abs(value)),
      `${Array.from(actual)} is not ${expected}`,
    )
  );
}
