import { tangoAdvantages } from "./advantage/advantages.ts";
import { sampleGroups } from "./dynamic_sampling.ts";
import { Judging } from "./judging.ts";
import { type Learned, learnFrom, type LearningOptions } from "./learn_from.ts";
import { type OverlongOptions, overlongPenalty } from "./reward/overlong_penalty.ts";
import { shareOut } from "../distributed/shared_work.ts";
import type { Policy } from "./policy.ts";
import type { GeneratorTemplate, VerifierTemplate } from "./prompt_template.ts";
import { type Critique, type ProblemSource, type Solution, solve } from "./responses.ts";
import { type GeneratorReward, generatorReward } from "./reward/rewards.ts";
import type { AdvantageEstimator, ScoredResponse } from "./advantage/scored_response.ts";
import type { RolloutResponse, Sampling } from "../engine/sampling/rollout.ts";
import { findUnsound } from "./soundness.ts";
import { mean } from "../base/statistics.ts";
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
    readonly outcomeWeight: number;
    readonly processWeight: number;
  };
  /** Share of the process part of the advantage. */
  readonly alpha: number;
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
  readonly reward: GeneratorReward;
  /** [response tokens] */
  readonly advantages: Float32Array;
  /** The response token that ends each step. */
  readonly stepEndTokens: readonly number[];
}

/** Result of a generator step. */
export interface GeneratorStepResult<Problem> extends Learned {
  readonly judged: readonly RewardedSolution<Problem>[];
  /** Batches that were sampled, and the share of all their groups whose rewards are unequal. */
  readonly sampledBatches: number;
  readonly unequalShare: number;
  /** Means of what a custom reward logs. */
  readonly rewardMetrics: Readonly<Record<string, number>>;
  /** Number of tokens sampled, the critiques' too. */
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
 * @param verifier judges the steps; null (baseline, warm-up) leaves the rule-based reward alone
 * @param draw the problems of a batch, counted from 0
 */
export async function generatorStep<Problem>(
  generator: Policy<GeneratorTemplate>,
  verifier: Policy<VerifierTemplate> | null,
  source: ProblemSource<Problem>,
  draw: (batch: number) => readonly Problem[],
  options: GeneratorStepOptions<Problem>,
): Promise<GeneratorStepResult<Problem>> {
  const { rollout, rewards, advantage, alpha, during } = options;
  const { groupSize, batchSize, verificationsPerSolution: m } = rollout;
  // Which solutions a further batch leaves is known only at its end.
  const judging = verifier && new Judging(generator, verifier, source, {
    count: m,
    sampling: options.verifierSampling,
    solutions: batchSize * groupSize,
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
  const rewarded = solutions.map((solution, i) => {
    const own = critiques.slice(i * m, (i + 1) * m);
    const reward = generatorReward({
      correctness: scoredSolutions[i].correctness,
      formatScore: solution.formatScore,
      stepCount: solution.parsed.steps.length,
      critiques: own.map((critique) => critique.parsed),
      groundTruthWeight: rewards.groundTruthWeight,
      generatorFormatWeight: rewards.generatorFormatWeight,
    });
    const { length } = solution.rollout.tokens;
    const penalty = overlongPenalty(length, generator.maximumResponse, rewards);
    const stepEndTokens = lastTokenOfSpans(solution.tokenTexts, solution.parsed.steps);
    const outcome = reward.outcome + penalty;
    return { solution, critiques: own, reward: { ...reward, outcome }, stepEndTokens };
  });
  const scored: ScoredResponse[] = rewarded.map(({ solution, reward, stepEndTokens }, i) => ({
    group: Math.floor(i / groupSize),
    responseLength: solution.rollout.tokens.length,
    reward: reward.outcome,
    stepRewards: reward.steps,
    stepEndTokens: reward.steps.length > 0 ? stepEndTokens : [],
  }));
  const advantages = tangoAdvantages(scored, advantage.estimator, { ...advantage, alpha });
  const unsound = findUnsound(solutions, critiques);
  const learned = await learnFrom(generator, solutions, scored, advantages, unsound, options);
  return {
    judged: rewarded.map((one, i) => ({ ...one, advantages: advantages[i] })),
    ...learned,
    sampledBatches: sampled.batches,
    unequalShare: sampled.unequalShare,
    rewardMetrics: meansOf(scoredSolutions.map(({ metrics }) => metrics)),
    sampledTokens: solutionTokens + tokensOf(critiques),
  };
}

const tokensOf = (responses: readonly { readonly rollout: RolloutResponse }[]) =>
  responses.reduce((sum, { rollout }) => sum + rollout.tokens.length, 0);

function inGroups<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from(
    { length: items.length / size },
    (_, group) => items.slice(group * size, (group + 1) * size),
  );
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
