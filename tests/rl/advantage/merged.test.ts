import assert from "node:assert/strict";
import { creditedAdvantages } from "../../../src/rl/advantage/advantages.ts";
import { mergedAdvantages } from "../../../src/rl/advantage/merged.ts";
import { assertClose, judged } from "./judged.ts";

const even = { outcome: 0.5, process: 0.5 };

/** A right response whose steps are right, and a wrong one of a right and a wrong step. */
const pair = [
  judged(4, [1], [1], { reward: 1, isCorrect: true, stepRewards: [1] }),
  judged(5, [1, 3], [1, -1], { stepRewards: [0.5, -0.5] }),
];

Deno.test("merged, own step: outcome and judgment of the own step are standardised together", () => {
  // 0.5 + 0.5 and 0.5; 0.5, -0.5 and 0: mean 1.5 / 5 = 0.3, squares 0.49, 0.04, 0.04, 0.64, 0.09: 1.3.
  const [right, wrong] = mergedAdvantages(pair, "grpo", "own-step", even);
  const scale = Math.sqrt(1.3 / 4) + 1e-6;
  assertClose(right, [0.7, 0.7, 0.2, 0.2].map((value) => value / scale));
  assertClose(wrong, [0.2, 0.2, -0.8, -0.8, -0.3].map((value) => value / scale));
});

Deno.test("merged, sum to go: the outcome and the steps that are still to end", () => {
  // 1, 0.5; 0, -0.25, 0: mean 0.25.
  const [right, wrong] = mergedAdvantages(pair, "dr_grpo", "sum-to-go", even);
  assertClose(right, [0.75, 0.75, 0.25, 0.25]);
  assertClose(wrong, [-0.25, -0.25, -0.5, -0.5, -0.25]);
});

Deno.test("merged, RLOO: less the mean of the group's other responses", () => {
  const [right, wrong] = mergedAdvantages(pair, "rloo", "own-step", even);
  assertClose(right, [1, 1, 0.5, 0.5]);
  assertClose(wrong, [-0.25, -0.25, -1.25, -1.25, -0.75]);
});

Deno.test("merged, REINFORCE++: whitened over all tokens of the batch", () => {
  const [right, wrong] = mergedAdvantages(pair, "reinforce++", "own-step", even);
  // 1, 1, 0.5, 0.5; 0.5, 0.5, -0.5, -0.5, 0: mean 3 / 9, squares add up to 3.5.
  const scale = Math.sqrt((3.5 - 1) / 8 + 1e-8);
  assertClose(right, [1, 1, 0.5, 0.5].map((value) => (value - 1 / 3) / scale));
  assertClose(wrong, [0.5, 0.5, -0.5, -0.5, 0].map((value) => (value - 1 / 3) / scale));
});

Deno.test("merged: what is missing counts as wrong, and unread steps by the answer", () => {
  const group = [
    judged(2, [0], [1], { missingSteps: 2 }),
    judged(2, [0], null),
    judged(2, [0], null, { isCorrect: true, reward: 1 }),
  ];
  // 0.5, -0.5; -0.5, 0; 0.5, 0.5: mean 0.5 / 6.
  const centre = 0.5 / 6;
  const rows = mergedAdvantages(group, "dr_grpo", "own-step", even);
  assertClose(rows[0], [0.5 - centre, -0.5 - centre]);
  assertClose(rows[1], [-0.5 - centre, -centre]);
  assertClose(rows[2], [0.5 - centre, 0.5 - centre]);
  const toGo = mergedAdvantages(group, "dr_grpo", "sum-to-go", { outcome: 1, process: 1 });
  assertClose(toGo[1], [-1 / 3, -1 / 3]);
});

Deno.test("merged, until error: the outcome alone after the first flagged step", () => {
  const group = [judged(5, [0, 1, 2], [1, -1, -1], { missingSteps: 1 }), judged(1, [0], [1])];
  // 0.5, -0.5, 0, 0; 0.5, 0: mean 0.5 / 6.
  const centre = 0.5 / 6;
  const [row] = mergedAdvantages(group, "dr_grpo", "until-error", even);
  assertClose(row, [0.5, -0.5, 0, 0, 0].map((value) => value - centre));
});

Deno.test("merged: with alpha 0 steps are told apart by the outcome alone", () => {
  const weights = { alpha: 0, outcomeWeight: 1, processWeight: 1 };
  const options = { estimator: "dr_grpo", normalisation: "merged", ...weights } as const;
  const { combined, ofOutcome } = creditedAdvantages(pair, { process: "own-step", ...options });
  // 1, 1; 0, 0, 0: mean 0.4. Longer responses count for more than in the outcome's own mean.
  assertClose(combined[0], [0.6, 0.6, 0.6, 0.6]);
  assertClose(combined[1], [-0.4, -0.4, -0.4, -0.4, -0.4]);
  assertClose(ofOutcome, [0.6, -0.4]);
  assert.throws(
    () => creditedAdvantages(pair, { process: "first-error", ...options }),
    /first-error credit has no rewards of steps to merge/,
  );
});
