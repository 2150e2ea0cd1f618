import assert from "node:assert/strict";
import { creditedAdvantages } from "../../../src/rl/advantage/advantages.ts";
import { tokenAdvantages } from "../../../src/rl/advantage/token_advantages.ts";
import { assertClose, judged } from "./judged.ts";

const rewarded = (tokenRewards: readonly number[], group = 0) => ({ group, tokenRewards });

Deno.test("token advantages, RLOO: PRIME's, less the mean of the others' mean rewards", () => {
  const rows = tokenAdvantages([
    rewarded([1, 2, 3]),
    rewarded([-1]),
    rewarded([4, 0], 1),
    rewarded([0.5, 0]),
  ], "rloo");
  // Means of the first group: 2, −1, 0.25; without the own one −0.375, 1.125, 0.5.
  assertClose(rows[0], [6 + 3 * 0.375, 5 + 2 * 0.375, 3 + 0.375]);
  assertClose(rows[1], [-2.125]);
  assertClose(rows[3], [0.5 - 1, -0.5]);
  // Alone in its group.
  assertClose(rows[2], [4, 0]);
});

Deno.test("token advantages, GRPO and Dr. GRPO: over all tokens of the group", () => {
  const group = [rewarded([1, 3]), rewarded([-1, 0, 2])];
  // Mean 1, sample variance (0 + 4 + 4 + 1 + 1) / 4.
  const [first, second] = tokenAdvantages(group, "dr_grpo");
  assertClose(first, [2, 2]);
  assertClose(second, [-2, 0, 1]);
  const scale = 1 / (Math.sqrt(10 / 4) + 1e-6);
  const [scaled] = tokenAdvantages(group, "grpo");
  assertClose(scaled, [2 * scale, 2 * scale]);
});

Deno.test("token advantages, REINFORCE++: sums to go, whitened over the batch", () => {
  const [first, second] = tokenAdvantages([rewarded([1, 2]), rewarded([-2], 1)], "reinforce++");
  // 3, 2 and −2: mean 1, sample variance (4 + 1 + 9) / 2.
  const scale = 1 / Math.sqrt(7 + 1e-8);
  assertClose(first, [2 * scale, scale]);
  assertClose(second, [-3 * scale]);
});

Deno.test("token advantages: mixed with the outcome by α and the weights", () => {
  const responses = [
    judged(2, [], [], { reward: 1, tokenRewards: Float64Array.of(0.5, -0.25) }),
    judged(1, [], [], { reward: 0, tokenRewards: Float64Array.of(0.5) }),
  ];
  const { combined, ofOutcome } = creditedAdvantages(responses, {
    ...{ estimator: "rloo", process: "token-to-go", normalisation: "separate" },
    ...{ alpha: 0.5, outcomeWeight: 2, processWeight: 4 },
  });
  // Outcomes 1 and −1; the others' mean rewards are 0.5 and 0.125.
  assertClose(combined[0], [1 + 2 * (0.5 - 0.25 - 1), 1 + 2 * (-0.25 - 0.5)]);
  assertClose(combined[1], [-1 + 2 * (0.5 - 0.125)]);
  assert.deepEqual(ofOutcome, [1, -1]);
  // Before there are rewards, in the generator's warm-up.
  const none = responses.map((one) => ({ ...one, tokenRewards: null }));
  const { combined: [row] } = creditedAdvantages(none, {
    ...{ estimator: "rloo", process: "token-to-go", normalisation: "separate" },
    ...{ alpha: 0, outcomeWeight: 1, processWeight: 1 },
  });
  assertClose(row, [1, 1]);
});
