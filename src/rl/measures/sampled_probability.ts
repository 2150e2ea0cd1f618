import { lastBlock } from "../text/step_blocks.ts";
import { tokenSpans } from "../text/token_spans.ts";

/**
 * P(CORRECT) of a critique, from the verdict that was sampled: the probability of the word's tokens where it is CORRECT,
 * else 1 minus that of INCORRECT. Its mean over critiques sampled at temperature 1 is P(CORRECT) where the verifier
 * gives nothing but the two any weight; what else it might have written counts as CORRECT when it wrote INCORRECT.
 *
 * @param tokenTexts [L] the text each token added
 * @param logProbs [L] at temperature 1
 * @param verdict as `parseCritique` reads it; null: none could be read
 * @returns null without a verdict
 */
export function sampledProbability(
  tokenTexts: readonly string[],
  logProbs: Float32Array,
  verdict: boolean | null,
): number | null {
  if (verdict === null) return null;
  const text = tokenTexts.join("");
  const block = lastBlock(text, "final_verification");
  const word = block && /\\boxed\{(\w+)\}/.exec(text.slice(block[0], block[1]));
  if (!block || !word) throw new Error("a critique with a verdict in no box");
  const start = block[0] + word.index + word[0].indexOf("{") + 1;
  const [{ first, last }] = tokenSpans(tokenTexts, [{ start, end: start + word[1].length }]);
  const logProb = logProbs.subarray(first, last + 1).reduce((sum, value) => sum + value, 0);
  const probability = Math.min(1, Math.exp(logProb));
  return verdict ? probability : 1 - probability;
}
