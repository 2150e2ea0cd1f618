import type { PassOptions } from "../engine/training/forward.ts";
import type { Policy } from "./policy.ts";
import type { RewardModel } from "./reward_model.ts";

/**
 * An implicit process reward model (PRIME; Cui et al. 2025, arXiv 2502.01456): a token's reward is
 * β · (log π(token) − log π_ref(token)), and the logit of a solution the sum over its tokens. It reads what the
 * generator read and wrote, and so has the generator's tokens.
 *
 * @param beta β
 */
export function implicitModel<Problem>(
  policy: Policy<unknown>,
  passes: PassOptions,
  beta: number,
): RewardModel<Problem> {
  return {
    policy,
    passes,
    hasReference: true,
    rewardsTokens: true,
    textsOf: ({ prompt, rollout: { tokens } }) => [{ prompt, response: tokens, factor: beta }],
  };
}
