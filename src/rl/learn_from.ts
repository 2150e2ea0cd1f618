import type { AdamwNumbers } from "../model/decoder/optimizer.ts";
import { onHolders } from "../distributed/shared_work.ts";
import { maskedResponses, type MaskingOptions } from "./advantage/masking.ts";
import type { Policy, PolicyName } from "./policy.ts";
import {
  type PolicyUpdateMetrics,
  type PolicyUpdateOptions,
  updatePolicy,
} from "./update/policy_update.ts";
import type { RolloutResponse } from "../engine/sampling/rollout.ts";
import type { ScoredResponse } from "./advantage/scored_response.ts";
import type { DuringPhase } from "./schedule/step_phase.ts";
import { spreadPlaces } from "../base/spread_places.ts";
import { groupIndices } from "../base/statistics.ts";

/** How a step updates its policy. */
export interface LearningOptions {
  readonly masking: MaskingOptions;
  readonly loss: PolicyUpdateOptions;
  readonly adamw: AdamwNumbers;
  /** Runs the step's phases. */
  readonly during: DuringPhase;
  /** Work of the ranks that do not hold the policy, while the others update it. */
  readonly meanwhile?: () => Promise<void>;
  /**
   * Responses, spread over all (`spreadPlaces`), whose tokens' log-prob differences are kept in the update's
   * `logProbDifferences`; 0 by default.
   */
  readonly watched?: number;
}

/** Result of a step's update. */
export interface Learned {
  /** Null when nothing was updated because a policy was unsound. */
  readonly update: PolicyUpdateMetrics | null;
  /** A policy that gave log-probs that are not finite in this step, if any. */
  readonly unsound: PolicyName | null;
  /** Whether nothing was learned from a response, for each: it was masked, or nothing was updated. */
  readonly leftOut: readonly boolean[];
  /** Share of groups whose rewards are all equal: they teach nothing. */
  readonly fracRewardZeroStd: number;
}

/**
 * Updates a policy with the responses it sampled.
 *
 * @param unsound a policy whose log-probs in this step are not finite: what it wrote is noise, and nothing
 *   is learned
 * @param scored of each response its group and reward
 * @param advantages of each response, [response tokens]
 * @throws Error when the policy is frozen
 */
export async function learnFrom(
  { engine }: Policy<unknown>,
  responses: readonly { readonly prompt: Uint32Array; readonly rollout: RolloutResponse }[],
  scored: readonly Pick<ScoredResponse, "group" | "reward">[],
  advantages: readonly Float32Array[],
  unsound: PolicyName | null,
  { masking, loss, adamw, during, meanwhile, watched = 0 }: LearningOptions,
): Promise<Learned> {
  const masked = maskedResponses(
    responses.map(({ rollout: { finished } }, i) => ({
      group: scored[i].group,
      finished,
      advantages: advantages[i],
    })),
    masking,
  );
  const watchedPlaces = new Set(spreadPlaces(responses.length, watched));
  const samples = responses.map(({ prompt, rollout }, i) => ({
    prompt,
    response: rollout.tokens,
    oldLogProbs: rollout.logProbs,
    advantages: advantages[i],
    group: scored[i].group,
    isMasked: masked[i],
    isWatched: watchedPlaces.has(i),
  }));
  const update = unsound === null
    ? await during("update", () =>
      onHolders(engine, ({ trainer, reference, hostReference }) => {
        if (!trainer) throw new Error("a frozen policy does not learn");
        return updatePolicy(trainer, hostReference ?? reference, samples, loss, adamw, during);
      }, meanwhile))
    : null;
  const groups = groupIndices(scored.map(({ group }) => group));
  const flat = groups.filter((members) =>
    members.every((i) => scored[i].reward === scored[members[0]].reward)
  );
  const leftOut = update === null ? masked.map(() => true) : masked;
  return { update, unsound, leftOut, fracRewardZeroStd: flat.length / groups.length };
}
