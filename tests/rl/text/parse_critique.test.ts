import assert from "node:assert/strict";
import fc from "fast-check";
import { ERROR_ENDINGS, parseCritique } from "../../../src/rl/text/parse_critique.ts";
import { garbledResponse } from "../garbled_response.ts";

const RIGHT = "\\boxed{CORRECT}", WRONG = "\\boxed{INCORRECT}";
const GOOD =
  `<step_verification><step>a ${RIGHT}</step><step>b ${WRONG}</step></step_verification>` +
  `<final_verification>${WRONG}</final_verification>`;

Deno.test("a well-formed critique is read", () => {
  assert.deepEqual(parseCritique(GOOD), {
    stepJudgments: [true, false],
    judgedSteps: [
      { text: `a ${RIGHT}`, start: 19, end: 49 },
      { text: `b ${WRONG}`, start: 49, end: 81 },
    ],
    judgmentStarts: [27, 57],
    stepCount: 2,
    verdict: false,
    blocksInOrder: true,
    finalMalformed: false,
    textBetweenSteps: false,
    endsAtError: false,
  });
});

Deno.test("a critique that ends at its first flagged step is told from others that are cut off", () => {
  const endsAtError = (...steps: string[]) =>
    parseCritique(`<step_verification>${steps.join("")}`).endsAtError;
  const right = `<step>a ${RIGHT}</step>`, wrong = `<step>b ${WRONG}</step>`;
  assert.ok(endsAtError(wrong));
  assert.ok(endsAtError(right, right, wrong));
  assert.ok(endsAtError(right, wrong + "\n"));
  // SmolLM2's tokenizer has the tokens `><` and `></`, of which a critique that was stopped keeps the whole.
  assert.ok(endsAtError(right, wrong + "<"));
  assert.ok(endsAtError(right, wrong + "</"));
  assert.ok(!endsAtError(right, wrong + "</step_verification>"), "nothing stopped it");
  assert.ok(!endsAtError());
  assert.ok(!endsAtError(right));
  assert.ok(!endsAtError(wrong, right), "it went on");
  assert.ok(!endsAtError(wrong, wrong), "it went on");
  assert.ok(!endsAtError("<step>no box</step>", wrong), "a step before is not judged");
  assert.ok(!endsAtError(wrong, "<step>c"), "it went on");
});

Deno.test("what ends a critique at an error is read as one, in each way of writing it", () => {
  for (const ending of ERROR_ENDINGS) {
    const parsed = parseCritique(`<step_verification><step>a ${RIGHT}</step><step>b ${ending}`);
    assert.deepEqual(parsed.stepJudgments, [true, false]);
    assert.ok(parsed.endsAtError);
  }
});

Deno.test("only judgments at the end of a step count; a full stop and either case are allowed", () => {
  const judgments = (steps: string[]) =>
    parseCritique(
      `<step_verification>${
        steps.map((step) => `<step>${step}</step>`).join("")
      }</step_verification>`,
    );
  const parsed = judgments([`x ${RIGHT}. `, "\\boxed{correct}", `${RIGHT} but no`, "no box"]);
  assert.deepEqual(parsed.stepJudgments, [true, true]);
  assert.equal(parsed.stepCount, 4);
  assert.deepEqual(judgments([`${RIGHT} no, ${WRONG}`]).stepJudgments, [false]);
  assert.deepEqual(judgments(["\\boxed{MAYBE}"]).stepJudgments, []);
});

Deno.test("a final verdict must be the box alone", () => {
  const verdictOf = (text: string) =>
    parseCritique(`<final_verification>${text}</final_verification>`).verdict;
  assert.equal(verdictOf(` ${RIGHT}\n`), true);
  assert.equal(verdictOf(`${WRONG}.`), false);
  assert.equal(verdictOf(`It is ${RIGHT}`), null);
  assert.equal(verdictOf(`${RIGHT}${WRONG}`), null);
  assert.equal(verdictOf("CORRECT"), null);
  assert.equal(parseCritique(`<final_verification>${RIGHT}`).verdict, null);
});

Deno.test("a cut-off critique still gives its finished step judgments", () => {
  const parsed = parseCritique(`<step_verification><step>a ${RIGHT}</step><step>b`);
  assert.deepEqual(parsed.stepJudgments, [true]);
  assert.equal(parsed.finalMalformed, true);
  assert.equal(parsed.blocksInOrder, false);
});

Deno.test("blocks in the wrong order, repeated or with company are not in order", () => {
  const [steps, final] = GOOD.split(/(?=<final_verification>)/);
  for (const text of [final + steps, GOOD + final, steps + GOOD, "x" + GOOD, GOOD + "x", steps]) {
    assert.equal(parseCritique(text).blocksInOrder, false, text);
  }
  assert.equal(parseCritique(` ${steps}\n${final}\n`).blocksInOrder, true);
  assert.equal(parseCritique(steps + "so " + final).blocksInOrder, false);
});

Deno.test("text between steps is noticed, white space is not", () => {
  assert.equal(
    parseCritique(GOOD.replace("</step><step>", "</step>\n<step>")).textBetweenSteps,
    false,
  );
  assert.equal(
    parseCritique(GOOD.replace("</step><step>", "</step>so<step>")).textBetweenSteps,
    true,
  );
});

Deno.test("property: any text parses without contradicting itself", () => {
  fc.assert(fc.property(garbledResponse, (response) => {
    const parsed = parseCritique(response);
    assert.ok(parsed.stepJudgments.length <= parsed.stepCount);
    assert.equal(parsed.finalMalformed, parsed.verdict === null);
  }));
});

Deno.test("property: a rendered critique is read back as it was", () => {
  const critique = fc.record({
    steps: fc.array(fc.tuple(fc.stringMatching(/^[a-z =:]{0,8}$/), fc.boolean()), { maxLength: 6 }),
    verdict: fc.boolean(),
  });
  fc.assert(fc.property(critique, ({ steps, verdict }) => {
    const blocks = steps.map(([text, right]) => `<step>${text}${right ? RIGHT : WRONG}</step>`);
    const parsed = parseCritique(
      `<step_verification>${blocks.join("")}</step_verification>` +
        `<final_verification>${verdict ? RIGHT : WRONG}</final_verification>`,
    );
    assert.deepEqual(parsed.stepJudgments, steps.map(([, right]) => right));
    assert.equal(parsed.verdict, verdict);
    assert.ok(parsed.blocksInOrder && !parsed.textBetweenSteps);
  }));
});
