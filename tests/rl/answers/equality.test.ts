import assert from "node:assert/strict";
import fc from "fast-check";
import { equalMathematics, MAXIMUM_LENGTH } from "../../../src/rl/answers/equal_mathematics.ts";
import { PAIRS } from "./pairs.ts";

const ALL_PAIRS = Object.values(PAIRS).flat();

for (const [rule, pairs] of Object.entries(PAIRS)) {
  Deno.test(`answer equality: ${rule}`, () => {
    const wrong = pairs.filter(([reference, answer, isEqual]) =>
      equalMathematics(answer, reference) !== isEqual
    );
    assert.deepEqual(wrong, [], "reference, answer, what the verdict should be");
  });
}

Deno.test("answer equality: symmetric, and reflexive for every answer of the table", () => {
  const lopsided = ALL_PAIRS.filter(([reference, answer, isEqual]) =>
    equalMathematics(reference, answer) !== isEqual
  );
  assert.deepEqual(lopsided, []);
  const texts = ALL_PAIRS.filter(([, , isEqual]) => isEqual).flatMap(([a, b]) => [a, b]);
  assert.deepEqual(texts.filter((text) => !equalMathematics(text, ` ${text} `)), []);
});
