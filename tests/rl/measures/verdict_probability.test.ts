import assert from "node:assert/strict";
import { qualityOf, verdictProbability } from "../../../src/rl/measures/verdict_probability.ts";

const STEPS = "<step_verification></step_verification>";

/** A critique of given pieces, and beside one of them some likeliest tokens with their probabilities. */
function critique(
  pieces: readonly string[],
  place: number,
  probability: number,
  others: Readonly<Record<string, number>>,
) {
  const names = [...pieces, ...Object.keys(others)];
  const own = Object.entries(others);
  const k = own.length;
  const tokens = new Uint32Array(pieces.length * k);
  const logProbs = new Float32Array(pieces.length * k).fill(-Infinity);
  own.forEach(([name, value], i) => {
    tokens[place * k + i] = names.indexOf(name);
    logProbs[place * k + i] = Math.log(value);
  });
  return {
    tokenTexts: pieces,
    tokens: Uint32Array.from(pieces, (_, i) => names.indexOf(pieces[i])),
    logProbs: Float32Array.from(pieces, (_, i) => i === place ? Math.log(probability) : -0.1),
    likeliest: { k, tokens, logProbs },
    textOf: (token: number) => names[token],
  };
}

// f32 log-probs.
const near = (found: number, expected: number) =>
  assert.ok(Math.abs(found - expected) < 1e-6, `${found}, expected ${expected}`);

Deno.test("P(CORRECT): at the token with which the verdict's word begins, both words weighed", () => {
  const before = [STEPS, "<final_verification>\\boxed{"];
  const after = "}</final_verification>";
  // Letters: 0.6 to 0.3, and the rest of the probability is of neither word.
  const letters = (word: string) => [...before, ...word, after];
  near(verdictProbability(critique(letters("CORRECT"), 2, 0.6, { C: 0.6, I: 0.3 })), 0.6 / 0.9);
  near(verdictProbability(critique(letters("INCORRECT"), 2, 0.3, { C: 0.6, I: 0.3 })), 0.6 / 0.9);
  // Several tokens begin the same word.
  const pieces = [...before, "COR", "RECT", after];
  near(
    verdictProbability(critique(pieces, 2, 0.4, { COR: 0.4, C: 0.1, IN: 0.2, INC: 0.05, X: 0.2 })),
    0.5 / 0.75,
  );
  // A token that holds the brace too is weighed against those that hold it too.
  const joined = [STEPS, "<final_verification>\\boxed", "{IN", "CORRECT", after];
  near(
    verdictProbability(critique(joined, 2, 0.2, { "{IN": 0.2, "{COR": 0.6, "{": 0.1, COR: 0.1 })),
    0.6 / 0.8,
  );
  // The other word is not among the likeliest.
  near(verdictProbability(critique(letters("CORRECT"), 2, 0.9, { X: 0.1 })), 1);
  // The sampled token counts though it is not among them.
  near(verdictProbability(critique(letters("INCORRECT"), 2, 0.1, { C: 0.3 })), 0.75);
});

Deno.test("P(CORRECT): the last final block counts; without log-probs it is the verdict, without a verdict 0", () => {
  const pieces = [
    ...["<final_verification>\\boxed{", "C", "ORRECT}</final_verification>"],
    ...["<final_verification> \\boxed{", "I", "NCORRECT}.</final_verification>"],
  ];
  const found = critique(pieces, 4, 0.75, { I: 0.75, C: 0.25 });
  near(verdictProbability(found), 0.25);
  assert.equal(verdictProbability({ ...found, likeliest: null }), 0);
  const right = { ...found, tokenTexts: pieces.slice(0, 3), likeliest: null };
  assert.equal(verdictProbability(right), 1);
  const unread = critique(["<final_verification>\\boxed{", "C", "ORR"], 1, 0.9, { C: 0.9 });
  assert.equal(verdictProbability(unread), 0);
  near(qualityOf([found, right, unread]), 1.25 / 3);
  assert.equal(qualityOf([]), 0);
});
