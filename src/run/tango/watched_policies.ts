import type { Policy, PolicyName } from "../../rl/policy.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { gradientTrouble, type StepUpdates, type WatchedPolicy } from "../health/policy_health.ts";
import type { Policies } from "./policies.ts";
import type { StepOutcome } from "./training_steps.ts";

/** The policies, as their soundness is watched. */
export function watchedPolicies(
  config: TangoConfig,
  { generator, verifier }: Policies,
): Partial<Record<PolicyName, WatchedPolicy>> {
  const watch = (name: PolicyName, { engine, isTrained }: Policy<unknown>): WatchedPolicy => ({
    engine,
    optimizerKey: isTrained ? `${name}.optimizer` : null,
    maximumSkipped: (config[name] ?? config.generator).optimizer.maximum_skipped_updates,
  });
  return {
    generator: watch("generator", generator),
    ...(verifier && { verifier: watch("verifier", verifier) }),
  };
}

/** The updates of a step, and whether they took effect: none does where a policy's log-probs are unsound. */
export function updatesOf(
  learner: PolicyName,
  { update, unsound }: StepOutcome["learned"],
): StepUpdates {
  if (update === null) {
    return { learner, policy: unsound ?? learner, applied: [false], what: "log-probs are" };
  }
  const { applied, nonFinite } = update;
  return { learner, policy: learner, applied, what: gradientTrouble(nonFinite) };
}
