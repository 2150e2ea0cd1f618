import assert from "node:assert/strict";
import fc from "fast-check";
import { characterTokenizer, characterTokenizerConfig } from "../../../src/data/vocabulary.ts";
import { Tokenizer } from "../../../src/model/tokenizer/tokenizer.ts";
import { parseSolution } from "../../../src/rl/text/parse_solution.ts";
import { lastTokenOfSpans } from "../../../src/rl/text/token_spans.ts";
import { mergedTokenizer, mergedVocabularySize } from "../../model/merged_tokenizer.ts";

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
    assert.throws(
      () => lastTokenOfSpans(["ab", "c"], [span]),
      /does not lie inside the response of 3 characters/,
    );
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

/** Solutions of some steps with something before, between and after the steps. */
const solutions = fc.array(
  fc.tuple(fc.stringMatching(/^[a-z<>/:. ]{0,12}$/), fc.stringMatching(/^[a-z \n]{0,3}$/)),
  { minLength: 1, maxLength: 5 },
).map((parts) =>
  `<think>${
    parts.map(([step, after]) => `<step>${step}</step>${after}`).join("")
  }</think><answer>\\boxed{x}</answer>`
);

/** Every step of a text ends inside the token that is named for it, and not before. */
function assertStepEnds(text: string, tokenTexts: readonly string[]): void {
  assert.equal(tokenTexts.join(""), text);
  const { steps } = parseSolution(text);
  lastTokenOfSpans(tokenTexts, steps).forEach((token, step) => {
    const before = tokenTexts.slice(0, token).join("").length;
    const { end } = steps[step];
    assert.ok(before < end && end <= before + tokenTexts[token].length);
    assert.ok(text.slice(0, end).endsWith("</step>"));
  });
}

Deno.test("property: steps end in their token however the text is cut", () => {
  fc.assert(fc.property(solutions, fc.array(fc.nat(200)), (text, cuts) => {
    const places = [...new Set(cuts.filter((cut) => cut < text.length))].sort((a, b) => a - b);
    const tokenTexts = [0, ...places].map((from, i) => text.slice(from, places[i] ?? text.length));
    assertStepEnds(text, tokenTexts);
  }));
});

Deno.test("property: steps end in their token whichever vocabulary wrote them", () => {
  const characters = Tokenizer.fromJson(
    { ...characterTokenizer() },
    { ...characterTokenizerConfig() },
    "the character vocabulary",
  );
  const merged = mergedTokenizer();
  fc.assert(fc.property(solutions, (text) => {
    assertStepEnds(text, merged.decodeEach(merged.encode(text)));
    // Of single characters it knows no brackets but those of its tags.
    const plain = text.replace(/(?<=<step>)[<>/]+|[<>/](?![a-z/]*>)/g, "");
    const ids = characters.encode(plain);
    assertStepEnds(characters.decode(ids), characters.decodeEach(ids));
  }));
});

Deno.test("property: any tokens that a model may sample map back to their text", () => {
  const merged = mergedTokenizer();
  const ids = fc.array(fc.nat(mergedVocabularySize - 1), { maxLength: 60 });
  fc.assert(fc.property(ids, (sampled) => {
    const text = merged.decode(sampled);
    assertStepEnds(text, merged.decodeEach(sampled));
  }));
});
