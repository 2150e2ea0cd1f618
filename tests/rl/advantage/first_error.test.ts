import assert from "node:assert/strict";
import { creditedAdvantages } from "../../../src/rl/advantage/advantages.ts";
import { firstErrorAdvantages } from "../../../src/rl/advantage/first_error.ts";
import { assertClose, judged } from "./judged.ts";

const row = (length: number, value: number) => new Float32Array(length).fill(value);

Deno.test("first error, hard: nothing before the first flagged step, all of it from there on", () => {
  const rows = firstErrorAdvantages(
    [row(6, -2), row(6, -2), row(3, 1.5), row(3, -0.5), row(3, -1)],
    [
      judged(6, [0, 2, 4], [1, -0.5, 1]),
      // Nothing flagged: the answer alone is to blame. A tie flags nothing.
      judged(6, [1, 3], [1, 0]),
      judged(3, [0, 1], [-1, -1], { isCorrect: true }),
      // A right solution below its group's mean keeps what it has.
      judged(3, [0, 1], [1, 1], { isCorrect: true }),
      judged(3, [0, 1], null),
    ],
    false,
  );
  assertClose(rows[0], [0, -2, -2, -2, -2, -2]);
  assertClose(rows[1], [0, 0, 0, 0, -2, -2]);
  assertClose(rows[2], [1.5, 1.5, 1.5]);
  assertClose(rows[3], [-0.5, -0.5, -0.5]);
  assertClose(rows[4], [-1, -1, -1]);
});

Deno.test("first error, soft: by the probability that an error has been made", () => {
  const [soft, better] = firstErrorAdvantages(
    [row(5, -2), row(2, 0.5)],
    // Shares 3/4, 1/2 and 1: 1 - 3/4, 1 - 3/8, 1 - 3/8, then the answer.
    [judged(5, [0, 2, 3], [0.5, 0, 1]), judged(2, [0, 1], [-1, -1])],
    true,
  );
  assertClose(soft, [-0.5, -1.25, -1.25, -1.25, -2]);
  assertClose(better, [0.5, 0.5]);
});

Deno.test("first error: with one critique soft and hard are the same", () => {
  const responses = [judged(5, [1, 2, 3], [1, -1, 1])];
  const [soft] = firstErrorAdvantages([row(5, -1)], responses, true);
  assertClose(soft, [0, 0, -1, -1, -1]);
  assert.deepEqual(firstErrorAdvantages([row(5, -1)], responses, false), [soft]);
});

Deno.test("first error: alpha mixes the outcome advantage and the weighted one", () => {
  const responses = [
    judged(3, [0, 1], [1, -1]),
    judged(2, [0], [1], { reward: 1, isCorrect: true }),
  ];
  const weights = { alpha: 0.25, outcomeWeight: 1, processWeight: 1 };
  const form = { process: "first-error", normalisation: "separate" } as const;
  const options = { ...weights, ...form, estimator: "dr_grpo" } as const;
  const { combined, ofOutcome } = creditedAdvantages(responses, options);
  // Rewards 0 and 1: -1/2 and 1/2.
  assertClose(combined[0], [-0.375, -0.5, -0.5]);
  assertClose(combined[1], [0.5, 0.5]);
  assertClose(ofOutcome, [-0.375, 0.375]);
});
