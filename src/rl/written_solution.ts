import { parseSolution } from "./text/parse_solution.ts";
import type { Solution } from "./responses.ts";

/** A solution that was written, not sampled, for a verifier to judge. */
export function writtenSolution<Problem>(
  problem: Problem,
  text: string,
  correct: boolean,
): Solution<Problem> {
  return {
    problem,
    prompt: new Uint32Array(),
    rollout: {
      sequenceId: 0,
      tokens: new Uint32Array(),
      logProbs: new Float32Array(),
      finished: true,
    },
    version: null,
    text,
    tokenTexts: [],
    parsed: parseSolution(text),
    correct,
    formatScore: 1,
  };
}
