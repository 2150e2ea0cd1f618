import assert from "node:assert/strict";
import fc from "fast-check";
import { corruptNumbers } from "../../src/data/corrupt_numbers.ts";

/** Random numbers from a list, the last one again and again. */
const from = (...values: number[]) => () => values.length > 1 ? values.shift() ?? 0 : values[0];

Deno.test("corrupt numbers: the result of a step is wrong, and so is what follows from it", () => {
  const steps = ["There are 18 + 14 = 32 coins.", "After that there are 32 - 6 = 26 coins."];
  // The first step, by 3, upwards.
  const mistaken = corruptNumbers({ steps, answer: "26" }, from(0, 0.25, 0));
  assert.deepEqual(mistaken, {
    steps: ["There are 18 + 14 = 35 coins.", "After that there are 35 - 6 = 26 coins."],
    answer: "26",
    isRight: [false, false],
  });
  // The last step, by 1, downwards: the answer is wrong then.
  assert.deepEqual(corruptNumbers({ steps, answer: "26" }, from(0.9, 0, 0.9)), {
    steps: [steps[0], "After that there are 32 - 6 = 25 coins."],
    answer: "25",
    isRight: [true, false],
  });
});

Deno.test("corrupt numbers: decimals stay decimals, parts of words and of numbers stay as they are", () => {
  const steps = ["x1 is 2.5, then 2.50 km"];
  const mistaken = corruptNumbers({ steps, answer: "2.50" }, from(0, 0, 0));
  assert.deepEqual(mistaken?.steps, ["x1 is 2.5, then 2.51 km"]);
  assert.equal(mistaken?.answer, "2.51");
  assert.equal(corruptNumbers({ steps: ["no number", "x1"], answer: "1" }, from(0)), null);
});

Deno.test("corrupt numbers: exactly the steps that changed are wrong, and one always is", () => {
  const step = fc.array(
    fc.oneof(fc.integer({ min: 0, max: 30 }), fc.constantFrom("a", "+", "=", "km")),
    {
      minLength: 1,
      maxLength: 6,
    },
  ).map((words) => words.join(" "));
  fc.assert(fc.property(
    fc.array(step, { minLength: 1, maxLength: 5 }),
    fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true })),
    (steps, numbers) => {
      const solution = { steps, answer: "7" };
      const mistaken = corruptNumbers(solution, () => numbers.next().value);
      if (mistaken === null) return !steps.some((text) => /\d/.test(text));
      assert.equal(mistaken.steps.length, steps.length);
      assert.ok(mistaken.isRight.includes(false));
      mistaken.steps.forEach((text, i) => assert.equal(text === steps[i], mistaken.isRight[i]));
      assert.doesNotMatch(mistaken.steps.join(), /-\d/);
      return true;
    },
  ));
});
