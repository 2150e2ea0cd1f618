import assert from "node:assert/strict";
import fc from "fast-check";
import { equalMathematics } from "../../src/grading/equal_mathematics.ts";
import { MAXIMUM_LENGTH } from "../../src/grading/text/spelling_verdict.ts";
import { anyText } from "./any_text.ts";
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

Deno.test("answer equality: whole numbers and fractions agree with arithmetic", () => {
  const whole = fc.integer({ min: -50, max: 50 });
  const divisor = fc.integer({ min: 1, max: 30 });
  fc.assert(fc.property(whole, divisor, whole, divisor, (a, b, c, d) => {
    const [left, right] = [`\\frac{${a}}{${b}}`, `${c}/${d}`];
    assert.equal(equalMathematics(left, right), a * d === c * b);
    assert.equal(equalMathematics(right, left), a * d === c * b);
    assert.ok(equalMathematics(left, `\\frac{${3 * a}}{${3 * b}}`));
  }));
});

Deno.test("answer equality: never throws on strings and soups of LaTeX pieces", () => {
  const pieces = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "\\{",
    "\\}",
    "\\frac",
    "\\sqrt",
    "^",
    "_",
    "\\text{",
    "$",
  ];
  const words = [
    "\\begin{pmatrix}",
    "\\end{pmatrix}",
    "&",
    "\\\\",
    "\\cup",
    "\\in",
    "\\pm",
    "|",
    '"',
  ];
  const signs = [
    "1",
    "2",
    "x",
    "e",
    "+",
    "-",
    ",",
    "=",
    "<",
    "\\le",
    " ",
    ".",
    "\\",
    "%",
    "\\circ",
    "!",
  ];
  const soup = fc.array(fc.constantFrom(...pieces, ...words, ...signs), { maxLength: 12 })
    .map((parts) => parts.join(""));
  fc.assert(
    fc.property(fc.oneof(soup, anyText), soup, (a, b) => {
      equalMathematics(a, b);
      equalMathematics(a, "5");
    }),
    { numRuns: 300 },
  );
});

Deno.test("answer equality: deep, huge and overlong inputs come to a verdict", () => {
  const hostile = [
    "{".repeat(400),
    "(".repeat(200) + "1" + ")".repeat(200),
    "\\frac{1}{".repeat(50) + "2" + "}".repeat(50),
    "\\sqrt{".repeat(80) + "2" + "}".repeat(80),
    `\\begin{pmatrix}${"1&".repeat(200)}1\\end{pmatrix}`,
    "1,".repeat(240) + "1",
    "\\pm".repeat(100) + "1",
    "-".repeat(400) + "1",
    "9".repeat(499),
    "x^".repeat(200) + "x",
  ];
  for (const text of hostile) assert.equal(equalMathematics(text, "7"), false, text.slice(0, 20));
  const long = "x+".repeat(MAXIMUM_LENGTH) + "1";
  assert.equal(equalMathematics(long, `${long} `), true);
  assert.equal(equalMathematics(long, `1+${long.slice(0, -2)}`), false);
});
