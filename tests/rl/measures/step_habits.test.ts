import assert from "node:assert/strict";
import { stepHabits } from "../../../src/rl/measures/step_habits.ts";

Deno.test("step habits: each way to cheat is counted", () => {
  const habits = stepHabits([
    {
      question: "cat dog",
      steps: ["cat:t", " cat  dog\n", "cat:t", "…", "…"],
      text: "…<answer>tg</answer>\n",
      stepEndTokens: [3, 5, 9, 10, 12],
      expectedSteps: 2,
    },
    {
      question: "ox",
      steps: ["ox:x"],
      text: "<answer>x</answer> <answer>o</answer>",
      stepEndTokens: [6],
      expectedSteps: 2,
    },
    // Another solution's step is no repetition.
    { question: "ox", steps: ["ox:x", "é"], text: "", stepEndTokens: [6, 7], expectedSteps: 2 },
    { question: "ox", steps: [], text: "ox", stepEndTokens: [], expectedSteps: 0 },
  ]);
  const { repeatedShare } = stepHabits([{
    question: "Ann has 7 pens. Bob has 3 more. How many has he?",
    steps: ["Ann has 7  pens", "Bob has 3 more.", "Bob has 7+3=10", "Bob has 7+3=10."],
    text: "",
    stepEndTokens: [5, 9, 14, 20],
    expectedSteps: 1,
  }]);
  assert.equal(repeatedShare, 3 / 4, "two sentences of the question, and what was said before");
  assert.deepEqual(habits, {
    moreShare: 1 / 4,
    fewerShare: 1 / 4,
    emptyShare: 2 / 8,
    repeatedShare: 2 / 8,
    trailingShare: 1 / 4,
    // 4 + 2 + 4 + 1 + 2, 7, and 7 + 1.
    meanTokens: 28 / 8,
  });
});

Deno.test("step habits: nothing to count", () => {
  const none = {
    ...{ moreShare: 0, fewerShare: 0, emptyShare: 0, repeatedShare: 0, trailingShare: 0 },
    meanTokens: 0,
  };
  assert.deepEqual(stepHabits([]), none);
});
