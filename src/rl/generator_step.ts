import {
  creditedAdvantages,
  type Normalisation,
  type ProcessForm,
} from "./advantage/advantages.ts";
import type { JudgedResponse } from "./advantage/judged_response.ts";
import {
  earnedAlpha,
  type JudgmentQuality,
  QUALITY_DECAY,
  updateJudgmentQuality,
} from "./advantage/judgment_quality.ts";
import { sampleGroups } from "./dynamic_sampling.ts";
import { Judging } from "./judging.ts";
import { type Learned, learnFrom, type LearningOptions } from "./learn_from.ts";
import { type OverlongOptions, overlongPenalty } from "./reward/overlong_penalty.ts";
import { shareOut } from "../distributed/shared_work.ts";
import type { Policy } from "./policy.ts";
import { type ContinuationOptions, type PrefixValues, stepValues } from "./prefix_values.ts";
import type { GeneratorTemplate, VerifierTemplate } from "./prompt_template.ts";
import { type Critique, type ProblemSource, type Solution, solve, tokensOf } from "./responses.ts";
import { generatorReward } from "./reward/rewards.ts";
import type { AdvantageEstimator } from "./advantage/scored_response.ts";
import {
  type JudgmentSource,
  needsVerifier,
  type StepJudgments,
  valueChanges,
} from "./advantage/step_judgments.ts";
import {
  creditByValue,
  dealt,
  expectedStepsOf,
  judge,
  judgedUntilError,
  stepRewardsOf,
} from "./step_credit.ts";
import type { Sampling } from "../engine/sampling/rollout.ts";
import { type RewardModel, scoreSolutions } from "./reward_model.ts";
import type { SolutionScore } from "./reward/solution_score.ts";
import { sumsOfSteps } from "./reward/step_sums.ts";
import { unsoundWith } from "./reward_model_step.ts";
import { findUnsound } from "./soundness.ts";
import { inGroups } from "../base/in_groups.ts";
import { mean } from "../base/statistics.ts";
import { ERROR_ENDINGS } from "./text/parse_critique.ts";
import { lastTokenOfSpans } from "./text/token_spans.ts";

/** A reward that takes the place of correctness, and numbers to be logged beside it. */
export type SolutionReward<Problem> = (
  solution: Solution<Problem>,
) => Promise<{ readonly reward: number; readonly metrics: Readonly<Record<string, number>> }>;

/** Settings of a generator step. */
export interface GeneratorStepOptions<Problem> extends LearningOptions {
  readonly rollout: {
    /** B, problems that are learned from */
    readonly batchSize: number;
    /** n, solutions of each problem */
    readonly groupSize: number;
    /** Batches that may be sampled for B groups of unequal rewards; 1 takes the first as it is. */
    readonly maximumGenerationBatches: number;
    /** m, critiques of each solution */
    readonly verificationsPerSolution: number;
  };
  readonly rewards: {
    readonly minimumSteps: number;
    /** w */
    readonly groundTruthWeight: number;
    readonly generatorFormatWeight: number;
  } & OverlongOptions;
  readonly advantage: {
    readonly estimator: AdvantageEstimator;
    readonly process: ProcessForm;
    readonly normalisation: Normalisation;
    readonly oracleAccuracy: number;
    /** Solutions that the verifier judges; the steps of a right one that it does not count as CORRECT. */
    readonly judged: "all" | "wrong";
    readonly outcomeWeight: number;
    readonly processWeight: number;
  };
  /** Source of the judgments of steps; null: none are judged. `verifier` and `permuted` need a verifier. */
  readonly judgments: JudgmentSource | null;
  /** A reward model in the place of a verifier that writes; null: there is none. */
  readonly rewardModel: RewardModel<Problem> | null;
  /** How `prefix` judgments go on from the ends of steps. */
  readonly continuations: ContinuationOptions;
  /** Share of the process part of the advantage; where it is earned, the most it may be. */
  readonly alpha: number;
  /** Whether alpha goes by the quality of the judgments, this step's among them. */
  readonly alphaIsEarned: boolean;
  /** The moving averages so far; null before the first step that was judged. */
  readonly judgmentQuality: JudgmentQuality | null;
  /** Null: a correct answer earns 1, any other 0. */
  readonly reward: SolutionReward<Problem> | null;
  readonly sampling: Sampling;
  /** Sampling of the critiques. */
  readonly verifierSampling: Sampling;
}

/** A solution with all that was made of it. */
export interface RewardedSolution<Problem> {
  readonly solution: Solution<Problem>;
  readonly critiques: readonly Critique<Problem>[];
  readonly reward: Readonly<{ outcome: number; steps: readonly number[] }>;
  /** [response tokens] */
  readonly advantages: Float32Array;
  /** The outcome part's contribution to each of them. */
  readonly outcomeAdvantage: number;
  /** The response token that ends each step. */
  readonly stepEndTokens: readonly number[];
  /** What a reward model says of it; null without one. */
  readonly score: SolutionScore | null;
  /** What the process advantage was made of; null without judgments of all steps. */
  readonly judgments: StepJudgments;
  /** Steps that its problem is thought to need. */
  readonly expectedSteps: number;
}

/** Result of a generator step. */
export interface GeneratorStepResult<Problem> extends Learned {
  readonly judged: readonly RewardedSolution<Problem>[];
  /** Share of the process part that this step had. */
  readonly alpha: number;
  /** The moving averages after this step. */
  readonly judgmentQuality: JudgmentQuality | null;
  /** Batches that were sampled, and the share of all their groups whose rewards are unequal. */
  readonly sampledBatches: number;
  readonly unequalShare: number;
  /** Means of what a custom reward logs. */
  readonly rewardMetrics: Readonly<Record<string, number>>;
  /** Values that `prefix` judgments were made of; null with any others. */
  readonly valued: PrefixValues | null;
  /** Number of tokens sampled, those of the critiques and continuations too. */
  readonly sampledTokens: number;
}

/** A solution and what it earns before it is judged. */
interface Scored<Problem> {
  readonly solution: Solution<Problem>;
  readonly correctness: number;
  readonly metrics: Readonly<Record<string, number>>;
}

/**
 * A generator step (G-step): solutions, critiques of them, rewards, advantages, policy update.
 *
 * @param verifier judges the steps; null (baseline, warm-up, a reward model) leaves the rule-based reward alone
 * @param draw the problems of a batch, counted from 0
 */
export async function generatorStep<Problem>(
  generator: Policy<GeneratorTemplate>,
  verifier: Policy<VerifierTemplate> | null,
  source: ProblemSource<Problem>,
  draw: (batch: number) => readonly Problem[],
  options: GeneratorStepOptions<Problem>,
): Promise<GeneratorStepResult<Problem>> {
  const { rollout, rewards, advantage, during } = options;
  const { groupSize, batchSize, verificationsPerSolution: m } = rollout;
  if (verifier === null && options.judgments !== null && needsVerifier(options.judgments)) {
    throw new Error(`${options.judgments} judgments without a verifier`);
  }
  // Which solutions a further batch leaves is known only at its end.
  const isUntilError = judgedUntilError(options);
  const judging = verifier && new Judging(generator, verifier, source, {
    count: m,
    sampling: isUntilError
      ? { ...options.verifierSampling, stopStrings: ERROR_ENDINGS }
      : options.verifierSampling,
    solutions: batchSize * groupSize,
    judgesRight: advantage.judged === "all",
    asTheyCome: rollout.maximumGenerationBatches === 1,
  });
  let solutionTokens = 0;
  const sampled = await sampleGroups(batchSize, rollout.maximumGenerationBatches, async (batch) => {
    const solutions = await during("rollout", () =>
      solve(generator, source, draw(batch), {
        count: groupSize,
        minimumSteps: rewards.minimumSteps,
        sampling: options.sampling,
        firstSequence: batch * batchSize * groupSize,
        listener: judging?.listener,
      }));
    solutionTokens += tokensOf(solutions);
    return inGroups(await score(generator, solutions, options.reward), groupSize);
  }, (group) => group.map(({ correctness }) => correctness));
  const scoredSolutions = sampled.groups.flat();
  const solutions = scoredSolutions.map(({ solution }) => solution);
  const critiques = judging
    ? await during("verification", () => judging.critiquesOf(solutions))
    : [];
  const { rewardModel } = options;
  const scores = rewardModel &&
    await during("verification", () => scoreSolutions(rewardModel, solutions));
  const critiquesBy = Map.groupBy(critiques, ({ solution }) => solution);
  const groups = solutions.map((_, i) => Math.floor(i / groupSize));
  const valued = options.judgments === "prefix"
    ? await during(
      "continuation",
      () => stepValues(generator, source, solutions, options.continuations),
    )
    : null;
  const changes = valued &&
    valueChanges(valued.values, solutions.map(({ correct }) => correct), groups);
  const judged = changes
    ? changes.map((own, i) => own.slice(0, solutions[i].parsed.steps.length))
    : judge(source, solutions, critiquesBy, options);
  // Changes of value are made of outcomes: how they agree with them would say nothing. So would judgments that right
  // solutions have from their answers.
  const { judgments } = options;
  const isOfVerifierSteps = judging !== null && advantage.judged === "wrong" &&
    judgments !== null && needsVerifier(judgments);
  const isMeasured = judgments !== null && !valued && !isOfVerifierSteps;
  const judgmentQuality = isMeasured
    ? updateJudgmentQuality(
      options.judgmentQuality,
      solutions.map(({ correct }, i) => ({ isCorrect: correct, judgments: judged[i] })),
      QUALITY_DECAY.generator,
    )
    : options.judgmentQuality;
  const alpha = options.alphaIsEarned ? earnedAlpha(options.alpha, judgmentQuality) : options.alpha;
  const credited = options.judgments === "permuted" ? dealt(judged, solutions, options) : judged;
  const expected = expectedStepsOf(source, solutions, groups, options);
  const rewarded = solutions.map((solution, i) => {
    const own = critiquesBy.get(solution) ?? [];
    const reward = generatorReward({
      correctness: scoredSolutions[i].correctness,
      formatScore: solution.formatScore,
      stepCount: solution.parsed.steps.length,
      critiques: own.map((critique) => critique.parsed),
      score: scores && scores[i].probability,
      groundTruthWeight: rewards.groundTruthWeight,
      generatorFormatWeight: rewards.generatorFormatWeight,
    });
    const { length } = solution.rollout.tokens;
    const penalty = overlongPenalty(length, generator.maximumResponse, rewards);
    const stepEndTokens = lastTokenOfSpans(solution.tokenTexts, solution.parsed.steps);
    const tokenRewards = scores && scores[i].tokens;
    return {
      solution,
      critiques: own,
      score: scores && scores[i],
      reward: {
        outcome: reward.outcome + penalty,
        steps: tokenRewards
          ? sumsOfSteps(tokenRewards, stepEndTokens)
          : stepRewardsOf(own.length > 0 ? reward.steps : null, credited[i], options),
      },
      stepEndTokens,
      judgments: credited[i],
      expectedSteps: expected[i],
    };
  });
  const scored: JudgedResponse[] = rewarded.map((one, i) => ({
    group: groups[i],
    responseLength: one.solution.rollout.tokens.length,
    reward: one.reward.outcome,
    isCorrect: one.solution.correct,
    tokenRewards: one.score && one.score.tokens,
    ...(changes ? creditByValue(one, changes[i]) : {
      stepRewards: one.reward.steps,
      stepEndTokens: one.reward.steps.length > 0 ? one.stepEndTokens : [],
      judgments: one.judgments,
      ownStepEnds: one.stepEndTokens,
      missingSteps: Math.max(0, one.expectedSteps - one.stepEndTokens.length),
    }),
  }));
  const { combined, ofOutcome } = creditedAdvantages(scored, { ...advantage, alpha });
  const unsound = unsoundWith(scores ?? [], findUnsound(solutions, critiques));
  const learned = await learnFrom(generator, solutions, scored, combined, unsound, options);
  return {
    judged: rewarded.map((one, i) => ({
      ...one,
      advantages: combined[i],
      outcomeAdvantage: ofOutcome[i],
    })),
    alpha,
    judgmentQuality,
    ...learned,
    sampledBatches: sampled.batches,
    unequalShare: sampled.unequalShare,
    rewardMetrics: meansOf(scoredSolutions.map(({ metrics }) => metrics)),
    valued,
    sampledTokens: solutionTokens + tokensOf(critiques) + (valued?.sampledTokens ?? 0),
  };
}

/** A custom reward is asked once for each solution, by one of the ranks: it need not say the same twice. */
async function score<Problem>(
  { engine }: Policy<GeneratorTemplate>,
  solutions: readonly Solution<Problem>[],
  reward: SolutionReward<Problem> | null,
): Promise<Scored<Problem>[]> {
  if (!reward) {
    return solutions.map((solution) => ({
      solution,
      correctness: solution.correct ? 1 : 0,
      metrics: {},
    }));
  }
  const rewards = await shareOut(
    engine,
    solutions,
    ({ rollout }) => rollout.tokens.length,
    (_, own) => Promise.all(own.map(reward)),
  );
  return rewards.map(({ reward, metrics }, i) => ({
    solution: solutions[i],
    correctness: reward,
    metrics,
  }));
}

/** The mean of each number over those that have it. */
function meansOf(all: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const names = new Set(all.flatMap((metrics) => Object.keys(metrics)));
  return Object.fromEntries([...names].map((name) => [
    name,
    mean(all.flatMap((metrics) => name in metrics ? [metrics[name]] : [])),
  ]));
}
