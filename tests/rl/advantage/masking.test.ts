import assert from "node:assert/strict";
import { maskedResponses } from "../../../src/rl/advantage/masking.ts";
import { outcomeAdvantages } from "../../../src/rl/advantage/outcome_advantages.ts";
import { overlongPenalty } from "../../../src/rl/reward/overlong_penalty.ts";
import { processAdvantages } from "../../../src/rl/advantage/process_advantages.ts";
import { tokenWeights } from "../../../src/rl/update/token_weights.ts";

const scored = (group: number, reward: number, stepRewards: number[] = []) => ({
  group,
  responseLength: 4,
  reward,
  stepRewards,
  stepEndTokens: stepRewards.map((_, k) => k),
});

Deno.test("masking: truncated responses, and groups that teach nothing", () => {
  // A mean of three 0.9 is not quite 0.9 in floating point.
  const rewards = [0.9, 0.9, 0.9, 1, 0, 0];
  const responses = rewards.map((reward, i) => scored(Math.floor(i / 3), reward));
  const advantages = outcomeAdvantages(responses, "grpo");
  const all = responses.map(({ group }, i) => ({
    group,
    finished: i !== 4,
    advantages: advantages[i],
  }));
  const masked = (maskTruncated: boolean, dropZeroStd: boolean) =>
    maskedResponses(all, { maskTruncated, dropZeroStd });
  assert.deepEqual(masked(false, false), Array(6).fill(false));
  assert.deepEqual(masked(true, false), [false, false, false, false, true, false]);
  assert.deepEqual(masked(false, true), [true, true, true, false, false, false]);
  assert.deepEqual(masked(true, true), [true, true, true, false, true, false]);
});

Deno.test("token weights: each aggregation over those that count; none when all are masked", () => {
  const responses = [
    { length: 2, isMasked: false },
    { length: 5, isMasked: true },
    { length: 8, isMasked: false },
  ];
  assert.deepEqual(tokenWeights(responses, "token-mean", 16), [1 / 10, 0, 1 / 10]);
  assert.deepEqual(tokenWeights(responses, "sequence-mean", 16), [1 / 4, 0, 1 / 16]);
  assert.deepEqual(tokenWeights(responses, "sequence-sum", 16), [1 / 32, 0, 1 / 32]);
  assert.equal(tokenWeights([{ length: 3, isMasked: true }], "token-mean", 16), null);
});

Deno.test("overlong penalty: none, then linear, then whole", () => {
  const options = { overlongBuffer: 4, overlongPenalty: 2 };
  const penalties = [1, 12, 13, 14, 16].map((length) => overlongPenalty(length, 16, options));
  assert.deepEqual(penalties, [0, 0, -0.5, -1, -2]);
  assert.equal(overlongPenalty(16, 16, { overlongBuffer: 0, overlongPenalty: 2 }), 0);
});

Deno.test("dr_grpo: rewards and step rewards less their group's mean, not divided", () => {
  const responses = [scored(0, 1, [0.5, -0.5]), scored(0, 0, [1]), scored(0, 0)];
  const rows = outcomeAdvantages(responses, "dr_grpo").map((row) => row[0]);
  rows.forEach((value, i) => assert.ok(Math.abs(value - [2 / 3, -1 / 3, -1 / 3][i]) < 1e-7));
  // The group's step rewards have the mean 1/3; a token has the sum of the steps that end at or after it.
  const process = processAdvantages(responses, "dr_grpo");
  const third = 1 / 3;
  const expected = [[-2 * third, -0.5 - third, 0, 0], [1 - third, 0, 0, 0], [0, 0, 0, 0]];
  process.forEach((row, i) =>
    row.forEach((value, t) =>
      assert.ok(Math.abs(value - expected[i][t]) < 1e-6, `${i} ${t} ${value}`)
    )
  );
});
