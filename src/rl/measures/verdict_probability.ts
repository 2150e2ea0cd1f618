/** What a critique says of a solution as a number, not a word. */

import type { LikeliestTokens } from "../../engine/sampling/request.ts";
import { mean } from "../../base/statistics.ts";
import { verdictPlace } from "../text/parse_critique.ts";

/** Likeliest tokens that are asked for beside each of a critique: both verdicts are among them, or one has no weight. */
export const VERDICT_NEIGHBOURS = 8;

/** Tokens of a critique as the verifier sampled them. L tokens. */
export interface SampledVerdict {
  /** [L] the text each token added; joined, they are the critique */
  readonly tokenTexts: readonly string[];
  /** [L] */
  readonly tokens: Uint32Array;
  /** [L] */
  readonly logProbs: Float32Array;
  /** [L, k]; null where only the verdict itself is known */
  readonly likeliest: LikeliestTokens | null;
  /** The text of a token by itself. */
  readonly textOf: (token: number) => string;
}

/** P(CORRECT) of a critique whose verdict cannot be read: it vouches for nothing. */
export const UNREADABLE = 0;

const WORDS = ["CORRECT", "INCORRECT"] as const;

/**
 * P(CORRECT) of a critique: at the token with which the word in the final verdict's box begins,
 * P(CORRECT) / (P(CORRECT) + P(INCORRECT)), each the sum over the likeliest tokens that begin so. Where the likeliest
 * tokens are not known it is 1 or 0 as the verdict says; see `UNREADABLE`.
 */
export function verdictProbability(critique: SampledVerdict): number {
  const { tokenTexts, tokens, logProbs, likeliest, textOf } = critique;
  const verdict = verdictPlace(tokenTexts.join(""));
  if (verdict === null) return UNREADABLE;
  if (likeliest === null) return verdict.isCorrect ? 1 : 0;
  const { place, before } = tokenAt(tokenTexts, verdict.start);
  const { k } = likeliest;
  const said = [0, 0];
  const add = (text: string, logProb: number) => {
    const word = beginsWord(text, before);
    if (word !== null) said[word] += Math.exp(logProb);
  };
  add(tokenTexts[place], logProbs[place]);
  for (let i = place * k; i < (place + 1) * k; i++) {
    const token = likeliest.tokens[i];
    if (token !== tokens[place]) add(textOf(token), likeliest.logProbs[i]);
  }
  const [correct, incorrect] = said;
  return correct / (correct + incorrect);
}

/** The quality of a solution: the mean of its critiques' P(CORRECT). */
export function qualityOf(critiques: readonly SampledVerdict[]): number {
  return mean(critiques.map(verdictProbability));
}

/** The token that holds a character, and its text before that. */
function tokenAt(tokenTexts: readonly string[], character: number) {
  let start = 0;
  for (const [place, text] of tokenTexts.entries()) {
    if (character < start + text.length) return { place, before: text.slice(0, character - start) };
    start += text.length;
  }
  throw new Error(`character ${character} lies after the critique's ${start}`);
}

/** The word that a token begins after some text it must begin with; null for neither. */
function beginsWord(text: string, before: string): number | null {
  if (!text.startsWith(before)) return null;
  const rest = text.slice(before.length).toUpperCase();
  if (rest === "") return null;
  const word = WORDS.findIndex((one) => one.startsWith(rest) || rest.startsWith(one));
  return word < 0 ? null : word;
}
