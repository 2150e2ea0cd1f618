import assert from "node:assert/strict";
import { sampledProbability } from "../../src/rl/measures/sampled_probability.ts";
import { assertClose } from "../kernels/harness.ts";

const within = { absolute: 1e-6, relative: 0, why: "log-probs are stored in f32" };

/** Tokens as [text, probability]. */
function probability(tokens: readonly (readonly [string, number])[], verdict: boolean | null) {
  const logProbs = Float32Array.from(tokens, ([, p]) => Math.log(p));
  return sampledProbability(tokens.map(([text]) => text), logProbs, verdict);
}

const beginning = [
  ["<step_verification><step>a \\boxed{INCORRECT}</step>", 0.1],
  ["</step_verification><final_verification>\\boxed{", 0.2],
] as const;
const end = ["</final_verification>", 0.3] as const;

Deno.test("P(CORRECT): the product over the tokens of the verdict's word, and no other", () => {
  const correct = probability([...beginning, ["COR", 0.8], ["RECT", 0.5], ["}", 0.4], end], true);
  // 0.8 · 0.5
  assertClose([correct ?? NaN], [0.4], within);
});

Deno.test("P(CORRECT): of INCORRECT it is what is left", () => {
  const incorrect = probability(
    [...beginning, ["IN", 0.25], ["CORRECT", 0.8], ["}", 1], end],
    false,
  );
  // 1 − 0.25 · 0.8
  assertClose([incorrect ?? NaN], [0.8], within);
});

Deno.test("P(CORRECT): tokens may reach over the word's ends; its last verdict counts", () => {
  const first = ["<final_verification>\\boxed{CORRECT}</final_verification>", 0.01] as const;
  const joined = probability(
    [first, ["<final_verification>\\boxed", 1], ["{CORRECT}", 0.7], end],
    true,
  );
  assertClose([joined ?? NaN], [0.7], within);
});

Deno.test("P(CORRECT): none without a verdict", () => {
  assert.equal(probability([["nothing", 1]], null), null);
});
