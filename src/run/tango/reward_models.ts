import { UserError } from "../../base/user_error.ts";
import type { Policy } from "../../rl/policy.ts";
import type { ProblemSource } from "../../rl/responses.ts";
import { implicitModel } from "../../rl/implicit_model.ts";
import { outcomeModel } from "../../rl/outcome_model.ts";
import type { RewardModel } from "../../rl/reward_model.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { trainerOptions } from "../config/loss_options.ts";
import type { Policies } from "./policies.ts";

/** The verifier as a reward model; null where there is none, or it writes critiques. */
export function rewardModelOf<Problem>(
  config: TangoConfig,
  { verifier }: Pick<Policies, "verifier">,
  source: ProblemSource<Problem>,
): RewardModel<Problem> | null {
  const configured = config.verifier;
  if (configured === null || verifier === null) return null;
  const passes = trainerOptions(config);
  switch (configured.kind) {
    case "generative":
      return null;
    case "outcome":
      return outcomeModel(verifier, passes, source);
    case "implicit":
      return implicitModel(verifier, passes, configured.beta);
  }
}

/**
 * An implicit reward model reads the generator's own tokens.
 *
 * @throws UserError when it has others
 */
export function expectSameTokens(generator: Policy<unknown>, verifier: Policy<unknown>): void {
  const { vocabularySize } = verifier.config;
  const ids = Array.from({ length: generator.config.vocabularySize }, (_, id) => id);
  const differs = ids.length > vocabularySize ||
    ids.some((id) => generator.tokenizer.decode([id]) !== verifier.tokenizer.decode([id]));
  if (!differs) return;
  throw new UserError(
    "verifier.kind implicit reads the generator's tokens, and these two models have different ones. Take a " +
      "verifier.model of the generator's family, such as what generator.model names.",
  );
}
