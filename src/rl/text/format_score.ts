import type { ParsedCritique } from "./parse_critique.ts";
import type { ParsedSolution } from "./parse_solution.ts";

// Penalties are counted in tenths so that scores are the exact decimals 0, 0.2, 0.6 and 1.
function scoreAfter(penaltyTenths: number): number {
  return Math.max(0, 10 - penaltyTenths) / 10;
}

/**
 * r_fmt in [0, 1]: 0 without an answer block; otherwise 1, less 0.8 when the answer is not boxed, less
 * 0.8 when there is no step, or less 0.4 when there are some but fewer than `minimumSteps` (3 in the
 * published run). Source: RL Tango reference implementation.
 */
export function generatorFormatScore(
  solution: Pick<ParsedSolution, "steps" | "hasAnswerBlock" | "answerIsBoxed">,
  options: { minimumSteps: number },
): number {
  if (!solution.hasAnswerBlock) return 0;
  let penaltyTenths = solution.answerIsBoxed ? 0 : 8;
  if (solution.steps.length === 0) penaltyTenths += 8;
  else if (solution.steps.length < options.minimumSteps) penaltyTenths += 4;
  return scoreAfter(penaltyTenths);
}

/** Below this generator format score its step count is too unreliable to hold the verifier to it. */
const RELIABLE_GENERATOR_FORMAT = 0.6;

/**
 * r_vfmt in [0, 1]: 0 unless the response is the two blocks in order; otherwise 1, less 0.8 for a
 * malformed final verdict, less 0.8 when there is no step, or less 0.8 when the well-formed step
 * judgments are not `expectedSteps` (held to only when the generator's format score is at least 0.6),
 * and less 0.4 for text between steps. Source: RL Tango reference implementation.
 */
export function verifierFormatScore(
  critique: ParsedCritique,
  options: { expectedSteps: number; generatorFormatScore: number },
): number {
  if (!critique.blocksInOrder) return 0;
  let penaltyTenths = critique.finalMalformed ? 8 : 0;
  if (critique.stepCount === 0) penaltyTenths += 8;
  else if (
    options.generatorFormatScore >= RELIABLE_GENERATOR_FORMAT &&
    critique.stepJudgments.length !== options.expectedSteps
  ) penaltyTenths += 8;
  if (critique.textBetweenSteps) penaltyTenths += 4;
  return scoreAfter(penaltyTenths);
}
