/** What a verifier thinks of solutions, at test time. */

import type { RolloutResponse, Sampling } from "../engine/sampling/rollout.ts";
import type { Tokenizer } from "../model/tokenizer/tokenizer.ts";
import type { Policy } from "./policy.ts";
import type { VerifierTemplate } from "./prompt_template.ts";
import { type Critique, type ProblemSource, type Solution, verify } from "./responses.ts";
import {
  qualityOf,
  type SampledVerdict,
  VERDICT_NEIGHBOURS,
} from "./measures/verdict_probability.ts";

/** A solution as a verifier sees it. */
export interface WeighedSolution<Problem> {
  readonly solution: Solution<Problem>;
  readonly critiques: readonly Critique<Problem>[];
  /** Mean P(CORRECT) over the critiques, see `verdictProbability`. */
  readonly quality: number;
}

/** How many of the likeliest tokens a verifier is asked for, of as many as its vocabulary has. */
export function verdictNeighbours({ config }: Pick<Policy<unknown>, "config">): number {
  return Math.min(VERDICT_NEIGHBOURS, config.vocabularySize);
}

/** A critique's tokens with their texts. */
export function sampledVerdict(
  tokenizer: Tokenizer,
  { tokens, logProbs, likeliest }: Pick<RolloutResponse, "tokens" | "logProbs" | "likeliest">,
): SampledVerdict {
  return {
    ...{ tokenTexts: tokenizer.decodeEach(tokens), tokens, logProbs },
    likeliest: likeliest ?? null,
    textOf: (token) => tokenizer.decode([token]),
  };
}

/** Samples `count` critiques of each solution, and tells what they come to. All ranks call it. */
export async function judgeSolutions<Problem>(
  verifier: Policy<VerifierTemplate>,
  source: ProblemSource<Problem>,
  solutions: readonly Solution<Problem>[],
  count: number,
  sampling: Sampling,
): Promise<WeighedSolution<Problem>[]> {
  const likeliest = verdictNeighbours(verifier);
  const critiques = await verify(verifier, source, solutions, count, { ...sampling, likeliest });
  return solutions.map((solution, s) => {
    const own = critiques.slice(s * count, (s + 1) * count);
    const verdicts = own.map(({ rollout }) => sampledVerdict(verifier.tokenizer, rollout));
    return { solution, critiques: own, quality: qualityOf(verdicts) };
  });
}
