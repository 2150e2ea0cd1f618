import assert from "node:assert/strict";
import fc from "fast-check";
import { equalTexts } from "../../../src/grading/text/compare_text.ts";
import { anyText } from "../any_text.ts";

const PAIRS: readonly (readonly [reference: string, answer: string, isEqual: boolean])[] = [
  ["yes", "Yes", true],
  ["yes", "Yes.", true],
  ["yes", "true", true],
  ["no", "False", true],
  ["yes", "no", false],
  ["yes", "false", false],
  ["yes", "", false],
  ["", "", false],
  ["yes", "\\text{Yes}", true],
  ["yes", "\\boxed{yes}", true],
  ["proved", "disproved", false],
  ["unknown", "Unknown", true],
  ["The Beatles", "beatles", true],
  ["the beatles", "the  Beatles!", true],
  ["A", "a", true],
  ["A", "B", false],
  ["12.5", "12.50", true],
  ["1,234", "1234", true],
  ["1234", "$1,234", true],
  ["50%", "50", true],
  ["3, 4", "3,4", true],
  ["3, 4", "4, 3", false],
  ["3.0, 4", "3, 4.00", true],
  ["3, 4", "3", false],
  ["Paris, 12.0", "paris, 12", true],
  ["Paris, 12", "Paris, 13", false],
  ["New York", "York New", false],
  ["1/2", "0.5", true],
  ["increase", "decrease", false],
  ["'Tokyo'", "Tokyo", true],
  ["-5", "5", false],
  ["café", "CAFÉ", true],
];

Deno.test("text answers: the table of pairs, both ways", () => {
  const isWrong = ([reference, answer, isEqual]: (typeof PAIRS)[number]) =>
    equalTexts(answer, reference) !== isEqual ||
    equalTexts(reference, answer) !== isEqual;
  assert.deepEqual(PAIRS.filter(isWrong), []);
});

Deno.test("text answers: never throws", () => {
  fc.assert(
    fc.property(anyText, fc.string(), (a, b) => {
      equalTexts(a, b);
    }),
    { numRuns: 300 },
  );
});
