import assert from "node:assert/strict";
import { creditedAdvantages } from "../../../src/rl/advantage/advantages.ts";
import { ownStepAdvantages } from "../../../src/rl/advantage/own_step.ts";
import { assertClose, judged } from "./judged.ts";

Deno.test("own step, GRPO: each token has its step's judgment, standardised over the group's steps", () => {
  const rows = ownStepAdvantages([
    judged(6, [1, 3], [1, -1]),
    judged(4, [2], [1], { missingSteps: 1 }),
    judged(2, [0], [1], { group: 1 }),
    judged(3, [1], [-1], { group: 1 }),
  ], "grpo");
  // Group 0: 1, -1, 1 and a missing -1: mean 0, sample variance 4 / 3. Group 1: 1, -1: mean 0, variance 2.
  const a = 1 / (Math.sqrt(4 / 3) + 1e-6), b = 1 / (Math.sqrt(2) + 1e-6);
  assertClose(rows[0], [a, a, -a, -a, 0, 0]);
  assertClose(rows[1], [a, a, a, -a]);
  assertClose(rows[2], [b, 0]);
  assertClose(rows[3], [-b, -b, 0]);
});

Deno.test("own step: many steps weigh no less than few", () => {
  const [long, short] = ownStepAdvantages([
    judged(4, [0, 1, 2, 3], [1, 1, 1, 1]),
    judged(1, [0], [-1]),
  ], "dr_grpo");
  // Mean (4 - 1) / 5.
  assertClose(long, [0.4, 0.4, 0.4, 0.4]);
  assertClose(short, [-1.6]);
});

Deno.test("own step, Dr. GRPO: missing steps count one by one and are laid once", () => {
  const rows = ownStepAdvantages([
    judged(3, [0], [1], { missingSteps: 3 }),
    judged(2, [], [], { missingSteps: 1 }),
    judged(2, [0], [0.5]),
  ], "dr_grpo");
  // 1, -1, -1, -1; -1; 0.5: mean -2.5 / 6.
  const mean = -2.5 / 6;
  assertClose(rows[0], [1 - mean, -1 - mean, -1 - mean]);
  assertClose(rows[1], [-1 - mean, -1 - mean]);
  assertClose(rows[2], [0.5 - mean, 0]);
});

Deno.test("own step, RLOO: less the mean judgment of the others, missing ones among them", () => {
  const rows = ownStepAdvantages([
    judged(2, [0, 1], [1, -1]),
    judged(2, [0], [1], { missingSteps: 2 }),
    judged(1, [0], [1], { group: 1 }),
  ], "rloo");
  // Others of the first: 1, -1, -1, mean -1/3; of the second: mean 0; the third has none.
  assertClose(rows[0], [4 / 3, -2 / 3]);
  assertClose(rows[1], [1, -1]);
  assertClose(rows[2], [0]);
});

Deno.test("own step, REINFORCE++: whitened over the tokens that belong to a step", () => {
  const rows = ownStepAdvantages([
    judged(4, [1, 2], [1, -1]),
    judged(2, [0], [1], { group: 1, missingSteps: 2 }),
  ], "reinforce++");
  // Tokens 1, 1, -1 and 1, -1: mean 1/5, sample variance (3 * 16/25 + 2 * 36/25) / 4 = 6/5.
  const scale = Math.sqrt(1.2 + 1e-8);
  assertClose(rows[0], [0.8 / scale, 0.8 / scale, -1.2 / scale, 0]);
  assertClose(rows[1], [0.8 / scale, -1.2 / scale]);
});

Deno.test("own step: for a wrong solution not to be readable is to be flagged in each step", () => {
  const others = [judged(3, [0, 2], [1, -1]), judged(2, [1], [1])];
  for (const estimator of ["grpo", "dr_grpo", "rloo", "reinforce++"] as const) {
    const [unread] = ownStepAdvantages([judged(4, [1, 3], null), ...others], estimator);
    const [flagged] = ownStepAdvantages([judged(4, [1, 3], [-1, -1]), ...others], estimator);
    assert.deepEqual(unread, flagged);
    assert.ok(unread.every((advantage) => advantage < 0));
  }
});

Deno.test("own step: a right solution that could not be read takes no part", () => {
  const unread = judged(4, [1, 2], null, { isCorrect: true, missingSteps: 1 });
  const others = [judged(3, [0, 1], [1, -1]), judged(1, [0], [1])];
  // 1, -1, 1 and the missing -1: mean 0.
  for (const estimator of ["dr_grpo", "reinforce++"] as const) {
    const rows = ownStepAdvantages([unread, ...others], estimator);
    // Tokens of the whole batch that belong to a step or miss one: -1; 1, -1; 1.
    const scale = estimator === "dr_grpo" ? 1 : Math.sqrt(4 / 3 + 1e-8);
    assertClose(rows[0], [0, 0, 0, -1 / scale]);
    assertClose(rows[1], [1 / scale, -1 / scale, 0]);
    assertClose(rows[2], [1 / scale]);
  }
});

Deno.test("own step: two steps that end in one token, and steps that do not fit", () => {
  const rows = ownStepAdvantages([judged(2, [1, 1], [1, -1]), judged(1, [], [])], "dr_grpo");
  assertClose(rows[0], [1, 1]);
  assertClose(rows[1], [0]);
  assert.throws(() => ownStepAdvantages([judged(2, [2], [1])], "grpo"), /end token below 2/);
  assert.throws(() => ownStepAdvantages([judged(2, [1], [])], "grpo"), /a judgment for each/);
});

Deno.test("until error: what comes after the first flagged step is not judged", () => {
  const group = [
    judged(8, [1, 3, 5], [1, -1, -1], { missingSteps: 1 }),
    judged(4, [2], [1], { missingSteps: 1 }),
    judged(3, [1], null),
  ];
  // 1, -1; 1 and the missing -1; -1: mean -0.2.
  const rows = ownStepAdvantages(group, "dr_grpo", true);
  assertClose(rows[0], [1.2, 1.2, -0.8, -0.8, 0, 0, 0, 0]);
  assertClose(rows[1], [1.2, 1.2, 1.2, -0.8]);
  assertClose(rows[2], [-0.8, -0.8, 0]);
  // Tokens 1, 1, -1, -1; 1, 1, 1, -1; -1, -1: mean 0, squares add up to 10.
  const scale = Math.sqrt(10 / 9 + 1e-8);
  const whitened = ownStepAdvantages(group, "reinforce++", true);
  assertClose(whitened[0], [1, 1, -1, -1, 0, 0, 0, 0].map((value) => value / scale));
});

Deno.test("own step and until error: after the last step the outcome counts whole, whatever α is", () => {
  for (const process of ["own-step", "until-error"] as const) {
    const { combined, ofOutcome } = creditedAdvantages([
      judged(4, [1], [1], { reward: 1, isCorrect: true }),
      judged(3, [0], [-1]),
      judged(2, [], []),
    ], {
      ...{ process, estimator: "dr_grpo", normalisation: "separate" },
      ...{ alpha: 0.75, outcomeWeight: 3, processWeight: 1 },
    });
    // Outcomes 1, 0, 0, mean 1/3: of steps a quarter of 3 times 2/3, and three quarters of ±1. After them 3 times it.
    assertClose(combined[0], [0.5 + 0.75, 0.5 + 0.75, 2, 2]);
    assertClose(combined[1], [-0.25 - 0.75, -1, -1]);
    assertClose(combined[2], [-1, -1]);
    assertClose(ofOutcome, [0.5, -0.25, -0.25]);
  }
});

Deno.test("until error: after the first flagged step the outcome counts whole, whatever α is", () => {
  const { combined } = creditedAdvantages([
    judged(4, [1, 2], [1, 1], { reward: 1, isCorrect: true }),
    judged(5, [0, 2, 3], [1, -1, 1]),
    judged(3, [0, 1], null),
  ], {
    ...{ process: "until-error", estimator: "dr_grpo", normalisation: "separate" },
    ...{ alpha: 0.75, outcomeWeight: 1, processWeight: 1 },
  });
  // Judgments 1, 1; 1, -1; -1: mean 0.2. Outcomes 1, 0, 0: mean 1/3.
  const right = 0.25 * 2 / 3 + 0.75 * 0.8;
  assertClose(combined[0], [right, right, right, 2 / 3]);
  const before = -0.25 / 3 + 0.75 * 0.8, flagged = -0.25 / 3 - 0.75 * 1.2;
  assertClose(combined[1], [before, flagged, flagged, -1 / 3, -1 / 3]);
  // Without judgments a wrong solution is flagged in its first step.
  assertClose(combined[2], [flagged, -1 / 3, -1 / 3]);
});
