import type { Sampling } from "../engine/sampling/rollout.ts";
import { onHolders } from "../distributed/shared_work.ts";
import type { AdamwNumbers } from "../model/decoder/optimizer.ts";
import {
  type ClassCoefficients,
  classCoefficients,
  type ClassCounts,
  type ReweightMethod,
  type ReweightScale,
  updateClassCounts,
} from "./advantage/class_reweighting.ts";
import type { Policy, PolicyName } from "./policy.ts";
import type { GeneratorTemplate } from "./prompt_template.ts";
import { type ProblemSource, type Solution, solve, tokensOf } from "./responses.ts";
import type { DuringPhase } from "./schedule/step_phase.ts";
import { findUnsound } from "./soundness.ts";
import { type RewardModel, scoreSolutions } from "./reward_model.ts";
import type { SolutionScore } from "./reward/solution_score.ts";
import { type RewardModelUpdate, updateRewardModel } from "./update/update_reward_model.ts";

/** Settings of a verifier step whose verifier is a reward model. */
export interface RewardModelStepOptions<Problem> {
  /** Fresh solutions of each problem. */
  readonly candidates: number;
  readonly minimumSteps: number;
  readonly classReweighting: {
    readonly method: ReweightMethod;
    readonly decay: number;
    readonly scale: ReweightScale;
  };
  /** The moving averages so far; null before the first verifier step. */
  readonly classCounts: ClassCounts | null;
  /** Solutions to learn from before fresh ones of the problems. */
  readonly earlier: readonly Solution<Problem>[];
  /** How an update is cut; see `updateRewardModel`. */
  readonly cut: { readonly miniBatches: number; readonly epochs: number };
  readonly adamw: AdamwNumbers;
  /** Sampling of fresh solutions. */
  readonly generatorSampling: Sampling;
  /** Runs the step's phases. */
  readonly during: DuringPhase;
  /** Work of the ranks that do not hold the model, while the others update it. */
  readonly meanwhile?: () => Promise<void>;
}

/** Result of such a step. */
export interface RewardModelStepResult<Problem> {
  /** Solutions with their scores before the update. */
  readonly scored: readonly ScoredSolution<Problem>[];
  /** The moving averages after this step. */
  readonly classCounts: ClassCounts;
  readonly coefficients: ClassCoefficients;
  /** Null when nothing was updated because a policy was unsound. */
  readonly update: RewardModelUpdate | null;
  /** A policy that gave log-probs that are not finite, if any. */
  readonly unsound: PolicyName | null;
  /** Tokens of fresh solutions. */
  readonly sampledTokens: number;
}

/** A solution and what a reward model says of it. */
export interface ScoredSolution<Problem> {
  readonly solution: Solution<Problem>;
  readonly score: SolutionScore;
}

/**
 * A verifier step of a reward model: it learns from the outcomes of solutions, earlier ones and fresh ones of the
 * problems, by the class-weighted mean of the cross-entropies of its P(right).
 */
export async function rewardModelStep<Problem>(
  generator: Policy<GeneratorTemplate>,
  rewardModel: RewardModel<Problem>,
  source: ProblemSource<Problem>,
  problems: readonly Problem[],
  options: RewardModelStepOptions<Problem>,
): Promise<RewardModelStepResult<Problem>> {
  const { candidates, minimumSteps, classReweighting, earlier, cut, during } = options;
  const fresh = problems.length === 0
    ? []
    : await during("rollout", () =>
      solve(generator, source, problems, {
        count: candidates,
        minimumSteps,
        sampling: options.generatorSampling,
      }));
  const solutions = [...earlier, ...fresh];
  const scores = await during("verification", () => scoreSolutions(rewardModel, solutions));
  const labels = solutions.map(({ correct }) => correct);
  const counts = updateClassCounts(options.classCounts, labels, classReweighting.decay);
  const coefficients = classCoefficients(
    counts,
    labels,
    classReweighting.method,
    classReweighting.scale,
  );
  const learned = solutions.map((solution, i) => ({
    texts: rewardModel.textsOf(solution),
    isCorrect: solution.correct,
    weight: coefficients.perSample[i],
  }));
  const unsound = unsoundWith(scores, findUnsound(fresh, []));
  const update = unsound === null
    ? await during(
      "update",
      () =>
        onHolders(
          rewardModel.policy.engine,
          (here) => updateRewardModel(rewardModel, here, learned, cut, options.adamw, during),
          options.meanwhile,
        ),
    )
    : null;
  return {
    scored: solutions.map((solution, i) => ({ solution, score: scores[i] })),
    classCounts: counts,
    coefficients,
    update,
    unsound,
    sampledTokens: tokensOf(fresh),
  };
}

/** The policy that is not sound: the one that was found so already, or the verifier where its scores are no numbers. */
export function unsoundWith(
  scores: readonly SolutionScore[],
  found: PolicyName | null,
): PolicyName | null {
  return found ?? (scores.every(({ logit }) => Number.isFinite(logit)) ? null : "verifier");
}
