import assert from "node:assert/strict";
import fc from "fast-check";
import { SampledText } from "../../../src/server/openai/sampled_text.ts";

/** Tokens are characters and pairs of them. */
const texts = ["a", "b", "c", "ab", "ba", "cc", "é"];
const tokenizer = {
  decode: (ids: ArrayLike<number>) => Array.from(ids, (id) => texts[id]).join(""),
};

/** The text before the first stop, looked for in the whole. */
function wanted(
  tokens: readonly number[],
  stops: readonly string[],
  includesStop: boolean,
): string {
  const whole = tokenizer.decode(tokens);
  const found = stops.map((stop) => ({ stop, at: whole.indexOf(stop) }))
    .filter(({ at }) => at >= 0).sort((x, y) => x.at - y.at)[0];
  if (!found) return whole;
  return whole.slice(0, found.at + (includesStop ? found.stop.length : 0));
}

const token = fc.integer({ min: 0, max: texts.length - 1 });

Deno.test("sampled text: pieces joined are what stands before the first stop string", () => {
  fc.assert(fc.property(
    fc.array(fc.array(token, { maxLength: 4 }), { maxLength: 6 }),
    fc.uniqueArray(fc.constantFrom("a", "bc", "cab", "ccc", "é"), { maxLength: 2 }),
    fc.boolean(),
    (windows, stopStrings, includesStop) => {
      const text = new SampledText(tokenizer, { stopTokens: [], stopStrings, includesStop });
      const tokens: number[] = [];
      let joined = "";
      for (const window of windows) {
        // A sampler gives no token after the one that completes a stop string.
        for (const one of window) {
          if (stopStrings.some((stop) => tokenizer.decode(tokens).includes(stop))) break;
          tokens.push(one);
          joined += text.append([one]);
        }
      }
      joined += text.end();
      // Two that one token completes: the first in the text counts.
      assert.equal(joined, wanted(tokens, stopStrings, includesStop));
    },
  ));
});

Deno.test("sampled text: what may be the beginning of a stop string is held back, and a stop token is no text", () => {
  const stops = { stopTokens: [4], stopStrings: ["cab"], includesStop: false };
  const text = new SampledText(tokenizer, stops);
  assert.equal(text.append([0, 2]), "");
  assert.equal(text.append([0, 0]), "ac");
  assert.equal(text.append([5, 4]), "aacc");
  assert.equal(text.end(), "");
});
