import assert from "node:assert/strict";
import { chooseSamples, type SampleChoice } from "../../../src/run/report/sample_choice.ts";
import type { Sample } from "../../../src/run/store/samples_log.ts";

const sample = (
  step: number,
  correct: boolean,
  verdict: boolean | null,
  more: Partial<Sample> = {},
): Sample => ({
  step,
  phase: "generator",
  version: step,
  problem: "cat dog",
  referenceAnswer: "tg",
  solution: "s".repeat(step),
  steps: ["cat:t", "dog:g"],
  answer: "tg",
  correct,
  critiques: [{ version: 0, text: "", stepJudgments: [true, true], verdict }],
  ...more,
});

const all = [
  sample(1, true, true, { rewards: { outcome: 1 } }),
  sample(2, true, false, { rewards: { outcome: 0.5 } }),
  sample(3, false, true, { steps: ["a", "b", "c"], rewards: { outcome: 0 } }),
  sample(4, false, null, { phase: "evaluation", answer: null }),
  sample(4, true, true, { critiques: [], phase: "verifier" }),
];

const choice: SampleChoice = {
  traits: [],
  phase: null,
  firstStep: 0,
  lastStep: Infinity,
  order: "newest",
  reversed: false,
  count: 10,
};
const chosen = (change: Partial<SampleChoice>) =>
  chooseSamples(all, { ...choice, ...change }).chosen.map((one) => all.indexOf(one));

Deno.test("samples: traits are joined by and", () => {
  assert.deepEqual(chosen({ traits: ["correct", "judged-wrong"] }), [1]);
  assert.deepEqual(chosen({ traits: ["wrong", "judged-correct"] }), [2]);
  assert.deepEqual(chosen({ traits: ["no-verdict"] }), [3], "no critique is no missing verdict");
  assert.deepEqual(chosen({ traits: ["no-answer"] }), [3]);
  assert.deepEqual(chosen({ traits: ["step-count-missed"] }), [2]);
});

Deno.test("samples: phases, steps, order and count", () => {
  assert.deepEqual(chosen({}), [3, 4, 2, 1, 0], "newest first, equal ones in the log's order");
  assert.deepEqual(chosen({ reversed: true }), [0, 1, 2, 3, 4]);
  assert.deepEqual(chosen({ order: "most-steps", count: 1 }), [2]);
  assert.deepEqual(chosen({ order: "reward", count: 2 }), [0, 1]);
  assert.deepEqual(chosen({ phase: "verifier" }), [4]);
  assert.deepEqual(chosen({ firstStep: 2, lastStep: 3 }), [2, 1]);
  const { chosen: few, matching } = chooseSamples(all, { ...choice, count: 2 });
  assert.deepEqual([few.length, matching], [2, 5]);
});
