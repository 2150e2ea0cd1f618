import assert from "node:assert/strict";
import fc from "fast-check";
import { lastBoxAnswer } from "../../../src/data/files/boxed_answer.ts";
import { splitSolution } from "../../../src/data/files/solution_steps.ts";

Deno.test("solutions are cut at paragraphs and after sentences", () => {
  assert.deepEqual(
    splitSolution("We add 3. That makes 7. Is it odd? Yes!\n\nSo the answer is 7."),
    [
      "We add 3.",
      "That makes 7.",
      "Is it odd?",
      "Yes!",
      "So the answer is 7.",
    ],
  );
  assert.deepEqual(splitSolution("It is 3.5 cm, i.e. Not much, see Fig. 2 or Eq. $x$."), [
    "It is 3.5 cm, i.e. Not much, see Fig. 2 or Eq. $x$.",
  ]);
  assert.deepEqual(splitSolution("1. Add. 2. Halve."), ["1. Add.", "2. Halve."]);
  assert.deepEqual(splitSolution(" \n\n "), []);
});

Deno.test("formulas, environments and drawings stay whole", () => {
  const whole = [
    "$a. B$ and $$c.\n\nD$$ and \\(e. F\\) and \\[g. H\\]",
    "\\begin{align*} a &= b. \\\\\n\nC &= d. \\end{align*}",
    "[asy]\ndraw(a); // Done. Really.\n\ndraw(b);\n[/asy]",
    "$x$$y. Z$ ends",
  ];
  for (const text of whole) assert.deepEqual(splitSolution(text), [text]);
  assert.deepEqual(splitSolution("So $x = 3.$ Then \\[y = 4.\\] Done."), [
    "So $x = 3.$",
    "Then \\[y = 4.\\]",
    "Done.",
  ]);
});

Deno.test("a dollar sign without a partner goes no further than its paragraph", () => {
  assert.deepEqual(splitSolution("It costs $5. He pays.\n\nHe has \\$3 left. It is gone."), [
    "It costs $5. He pays.",
    "He has \\$3 left.",
    "It is gone.",
  ]);
});

Deno.test("cutting loses nothing but white space", () => {
  const piece = fc.constantFrom(
    "A. ",
    "$",
    "$$",
    "\\[",
    "\\]",
    "\n\n",
    "\\begin{a}",
    "\\end{a}",
    "x! ",
  );
  fc.assert(fc.property(fc.array(piece), (pieces) => {
    const text = pieces.join("");
    const bare = (value: string) => value.replace(/\s/g, "");
    assert.equal(bare(splitSolution(text).join("")), bare(text));
  }));
});

Deno.test("the last box, braces and all", () => {
  assert.equal(lastBoxAnswer("$\\boxed{1}$ or $\\boxed{\\frac{1}{2}}.$"), "\\frac{1}{2}");
  assert.equal(lastBoxAnswer("$\\boxed{\\{1, 2\\}}$"), "\\{1, 2\\}");
  assert.equal(lastBoxAnswer("so \\fbox{ 3 }"), "3");
  assert.equal(lastBoxAnswer("so $\\boxed 12.$"), "12");
  assert.equal(lastBoxAnswer("so $\\boxed 12$ it is"), "12");
  for (const text of ["none", "\\boxed{}", "\\boxed{1} \\boxed{2"]) {
    assert.equal(lastBoxAnswer(text), null, text);
  }
});
