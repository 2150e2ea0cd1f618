import assert from "node:assert/strict";
import fc from "fast-check";
import { UserError } from "../../src/user_error.ts";
import { lastTokenOfSpans } from "../../src/rl/token_spans.ts";

Deno.test("the token that holds the last character is found", () => {
  const tokens = ["<th", "ink>", "a", "</step><st", "ep>"];
  //               0-3    3-7     7-8  8-18          18-21
  assert.deepEqual(
    lastTokenOfSpans(tokens, [
      { start: 0, end: 3 },
      { start: 0, end: 4 },
      { start: 2, end: 15 },
      { start: 0, end: 18 },
      { start: 20, end: 21 },
    ]),
    [0, 1, 3, 3, 4],
  );
});

Deno.test("tokens without text hold no character", () => {
  assert.deepEqual(
    lastTokenOfSpans(["", "a", "", "b"], [{ start: 0, end: 1 }, { start: 1, end: 2 }]),
    [
      1,
      3,
    ],
  );
});

Deno.test("spans outside the text are refused", () => {
  for (const span of [{ start: 0, end: 4 }, { start: -1, end: 1 }, { start: 1, end: 1 }]) {
    assert.throws(() => lastTokenOfSpans(["ab", "c"], [span]), UserError);
  }
});

Deno.test("property: agrees with walking the characters", () => {
  const tokens = fc.array(fc.string({ maxLength: 4 }), { minLength: 1, maxLength: 20 })
    .filter((texts) => texts.join("") !== "");
  fc.assert(fc.property(tokens, fc.nat(), (texts, pick) => {
    const owners = texts.flatMap((text, token) => new Array<number>(text.length).fill(token));
    const last = pick % owners.length;
    assert.deepEqual(lastTokenOfSpans(texts, [{ start: 0, end: last + 1 }]), [owners[last]]);
  }));
});
