/** Models that tell how good a solution is by log-probs, and write nothing. */

import { onHolders } from "../distributed/shared_work.ts";
import type { Policy } from "./policy.ts";
import type { Solution } from "./responses.ts";
import {
  logitOf,
  probabilityOf,
  type ScoredText,
  type SolutionScore,
} from "./reward/solution_score.ts";
import { logProbsOf, type ScoringOptions } from "./update/update_reward_model.ts";

/**
 * A reward model: the logit of a solution being right is a sum of log-probs,
 *
 *   z = Σ over its texts, factor · Σ over their tokens, log π − log π_ref,
 *
 * without π_ref where there is no reference.
 */
export interface RewardModel<Problem> extends ScoringOptions {
  readonly policy: Policy<unknown>;
  /** Whether each token of the solution has a reward of its own: what its log-prob adds to the logit. */
  readonly rewardsTokens: boolean;
  /** The texts that tell of a solution. */
  textsOf(solution: Solution<Problem>): readonly ScoredText[];
}

/** Scores of solutions, each made by the ranks that hold the model; all ranks call it. */
export async function scoreSolutions<Problem>(
  rewardModel: RewardModel<Problem>,
  solutions: readonly Solution<Problem>[],
): Promise<SolutionScore[]> {
  const { policy: { engine }, rewardsTokens } = rewardModel;
  const texts = solutions.map((solution) => rewardModel.textsOf(solution));
  const found = await onHolders(engine, (here) => logProbsOf(rewardModel, here, texts.flat()));
  let first = 0;
  return texts.map((own) => {
    const { logit, tokens } = logitOf(own, found, first);
    first += own.length;
    return {
      logit,
      probability: probabilityOf(logit),
      tokens: rewardsTokens ? tokens[0] : null,
    };
  });
}
