import assert from "node:assert/strict";
import fc from "fast-check";
import { parseSolution } from "../../../src/rl/text/parse_solution.ts";
import { garbledResponse } from "../garbled_response.ts";

const GOOD = "<think><step>a b</step>\n<step>c</step></think>\n<answer>\\boxed{42}</answer>";

Deno.test("a well-formed solution is read with exact character spans", () => {
  const parsed = parseSolution(GOOD);
  assert.deepEqual(parsed.steps, [
    { text: "a b", start: 7, end: 23 },
    { text: "c", start: 24, end: 38 },
  ]);
  assert.equal(GOOD.slice(7, 23), "<step>a b</step>");
  assert.equal(parsed.answer, "42");
  assert.ok(parsed.hasAnswerBlock && parsed.answerIsBoxed && parsed.wellFormed);
});

Deno.test("the box may hold nested and escaped braces", () => {
  const answerOf = (boxed: string) => parseSolution(`<answer>${boxed}</answer>`).answer;
  assert.equal(answerOf("\\boxed{\\frac{1}{2}}"), "\\frac{1}{2}");
  assert.equal(answerOf("\\boxed{\\{1, 2\\}}"), "\\{1, 2\\}");
  assert.equal(answerOf("\\boxed{1} or rather \\boxed{2}"), "2");
  assert.equal(answerOf("\\boxed{1} \\boxed{2"), "1");
  assert.equal(answerOf("42"), null);
});

Deno.test("only an answer that is one non-empty box counts as boxed", () => {
  const isBoxed = (text: string) => parseSolution(`<answer>${text}</answer>`).answerIsBoxed;
  assert.ok(isBoxed(" \\boxed{1} "));
  assert.ok(!isBoxed("x \\boxed{1}"));
  assert.ok(!isBoxed("\\boxed{1}."));
  assert.ok(!isBoxed("\\boxed{}"));
  assert.ok(!isBoxed("\\boxed{1}\\boxed{2}"));
});

Deno.test("steps outside the thinking do not count", () => {
  const parsed = parseSolution(
    "<step>x</step><think><step>a</step></think><step>y</step><answer>\\boxed{1}</answer>",
  );
  assert.deepEqual(parsed.steps.map((step) => step.text), ["a"]);
  assert.ok(!parsed.wellFormed);
});

Deno.test("unclosed and nested tags are tolerated", () => {
  const textsOf = (response: string) => parseSolution(response).steps.map((step) => step.text);
  assert.deepEqual(textsOf("<think><step>a</step><step>b"), ["a"]);
  assert.deepEqual(textsOf("<think><step>a<step>b</step></step></think>"), ["b"]);
  assert.deepEqual(textsOf("<think></step><step>a</step></think>"), ["a"]);
  assert.deepEqual(
    textsOf("<think><step>a</step><answer><step>b</step>\\boxed{1}</answer>"),
    ["a"],
  );
  assert.deepEqual(textsOf("<step>a</step>"), []);
});

Deno.test("the last closed answer block is the answer", () => {
  const parsed = parseSolution("<answer>\\boxed{1}</answer><answer>\\boxed{2}</answer><answer>3");
  assert.equal(parsed.answer, "2");
  assert.equal(parseSolution("<answer>\\boxed{1}").hasAnswerBlock, false);
  assert.equal(parseSolution("</answer><answer>").hasAnswerBlock, false);
});

Deno.test("anything besides the format makes a solution ill-formed", () => {
  const variants = [
    "so " + GOOD,
    GOOD + " done",
    GOOD.replace("\n<step>", "then <step>"),
    GOOD.replace("</think>\n", "</think> thus "),
    GOOD.replace("\\boxed{42}", "42"),
    GOOD.replace("</think>", ""),
    GOOD.replace("a b", "a <think> b"),
    GOOD + "<answer>\\boxed{1}</answer>",
    "<think></think><answer>\\boxed{42}</answer>",
  ];
  for (const variant of variants) assert.equal(parseSolution(variant).wellFormed, false, variant);
});

Deno.test("property: any text parses, and every step span holds its step", () => {
  fc.assert(fc.property(garbledResponse, (response) => {
    const parsed = parseSolution(response);
    let previousEnd = 0;
    for (const { text, start, end } of parsed.steps) {
      assert.equal(response.slice(start, end), `<step>${text}</step>`);
      assert.ok(start >= previousEnd);
      previousEnd = end;
    }
    if (parsed.answerIsBoxed) assert.ok(parsed.hasAnswerBlock && parsed.answer !== null);
    if (parsed.wellFormed) assert.ok(parsed.answerIsBoxed && parsed.steps.length > 0);
  }));
});

const plainText = fc.string({ maxLength: 12 }).map((text) => text.replace(/[<{}\\]/g, ""));

Deno.test("property: a rendered solution is read back as it was", () => {
  const solution = fc.record({
    steps: fc.array(plainText, { minLength: 1, maxLength: 6 }),
    answer: plainText.filter((text) => text !== ""),
    gap: fc.constantFrom("", "\n", " \n "),
  });
  fc.assert(fc.property(solution, ({ steps, answer, gap }) => {
    const blocks = steps.map((step) => `<step>${step}</step>`).join(gap);
    const parsed = parseSolution(
      `<think>${gap}${blocks}${gap}</think>${gap}<answer>\\boxed{${answer}}</answer>${gap}`,
    );
    assert.deepEqual(parsed.steps.map((step) => step.text), steps);
    assert.equal(parsed.answer, answer);
    assert.ok(parsed.wellFormed);
  }));
});
