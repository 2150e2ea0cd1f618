import { UserError } from "../base/user_error.ts";
import type { PassOptions } from "../engine/training/forward.ts";
import type { Policy } from "./policy.ts";
import type { VerifierTemplate } from "./prompt_template.ts";
import { askVerifier, type ProblemSource } from "./responses.ts";
import type { RewardModel } from "./reward_model.ts";

/** What an outcome reward model might answer, the right solution's first. */
export const VERDICTS = ["\\boxed{CORRECT}", "\\boxed{INCORRECT}"] as const;

/**
 * An outcome reward model (ORM; Cobbe et al. 2021, arXiv 2110.14168) in words that any language model has: asked about
 * a solution as a verifier is, its logit is log P(\boxed{CORRECT}) − log P(\boxed{INCORRECT}) of what it would answer
 * at once.
 */
export function outcomeModel<Problem>(
  policy: Policy<VerifierTemplate>,
  passes: PassOptions,
  source: ProblemSource<Problem>,
): RewardModel<Problem> {
  const verdicts = VERDICTS.map((text) => policy.tokenizer.encode(text));
  return {
    policy,
    passes,
    hasReference: false,
    rewardsTokens: false,
    textsOf(solution) {
      const { prompt } = askVerifier(policy, source, solution);
      return verdicts.map((response, i) => ({ prompt, response, factor: i === 0 ? 1 : -1 }));
    },
  };
}

/** Tokens of the longer verdict: what the model's positions must leave beside a prompt. */
export function verdictTokens({ tokenizer }: Pick<Policy<unknown>, "tokenizer">): number {
  const lengths = VERDICTS.map((text) => tokenizer.encode(text).length);
  if (lengths.includes(0)) {
    throw new UserError(`The verifier's tokenizer has no tokens for ${VERDICTS[0]}.`);
  }
  return Math.max(...lengths);
}
