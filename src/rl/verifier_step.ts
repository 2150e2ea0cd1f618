import type { Sampling } from "../engine/sampling/rollout.ts";
import {
  type ClassCoefficients,
  classCoefficients,
  type ClassCounts,
  type ReweightMethod,
  type ReweightScale,
  updateClassCounts,
} from "./advantage/class_reweighting.ts";
import { Judging } from "./judging.ts";
import { type Learned, learnFrom, type LearningOptions } from "./learn_from.ts";
import { outcomeAdvantages } from "./advantage/outcome_advantages.ts";
import type { Policy } from "./policy.ts";
import type { GeneratorTemplate, VerifierTemplate } from "./prompt_template.ts";
import { type Critique, type ProblemSource, solve } from "./responses.ts";
import { type PaidJudgment, paidJudgments, verifierReward } from "./reward/rewards.ts";
import type { AdvantageEstimator, ScoredResponse } from "./advantage/scored_response.ts";
import { findUnsound } from "./soundness.ts";

/** Settings of a verifier step. */
export interface VerifierStepOptions extends LearningOptions {
  readonly rollout: {
    /** n, critiques of each solution */
    readonly groupSize: number;
  };
  readonly rewards: {
    readonly minimumSteps: number;
    readonly verifierCorrectnessWeight: number;
    readonly verifierFormatWeight: number;
    /** Which judgment of a solution is paid. */
    readonly verifierJudgment: PaidJudgment;
  };
  readonly advantage: { readonly estimator: AdvantageEstimator };
  readonly classReweighting: {
    readonly method: ReweightMethod;
    readonly decay: number;
    readonly scale: ReweightScale;
  };
  readonly sampling: Sampling;
  /** Sampling of the solutions to judge. */
  readonly generatorSampling: Sampling;
}

/** A critique with what it earned. */
export interface RewardedCritique<Problem> {
  readonly critique: Critique<Problem>;
  readonly reward: number;
  /** After class reweighting; the same for every token with GRPO and RLOO. */
  readonly advantages: Float32Array;
}

/** Result of a verifier step. */
export interface VerifierStepResult<Problem> extends Learned {
  readonly rewarded: readonly RewardedCritique<Problem>[];
  /** The moving averages after this step. */
  readonly classCounts: ClassCounts;
  readonly coefficients: ClassCoefficients;
}

/**
 * A verifier step (V-step): one fresh solution of each problem, a group of critiques of each, the
 * reward for the final verdict and the format, class-reweighted advantages, policy update.
 *
 * @param classCounts the moving averages so far; null before the first verifier step
 */
export async function verifierStep<Problem>(
  generator: Policy<GeneratorTemplate>,
  verifier: Policy<VerifierTemplate>,
  source: ProblemSource<Problem>,
  problems: readonly Problem[],
  classCounts: ClassCounts | null,
  options: VerifierStepOptions,
): Promise<VerifierStepResult<Problem>> {
  const { rollout: { groupSize }, rewards, advantage, classReweighting, during } = options;
  const judging = new Judging(generator, verifier, source, {
    count: groupSize,
    sampling: options.sampling,
    solutions: problems.length,
    asTheyCome: true,
  });
  const solutions = await during("rollout", () =>
    solve(generator, source, problems, {
      count: 1,
      minimumSteps: rewards.minimumSteps,
      sampling: options.generatorSampling,
      listener: judging.listener,
    }));
  const critiques = await during("verification", () => judging.critiquesOf(solutions));
  const earned = critiques.map(({ parsed, solution, formatScore }) =>
    verifierReward({
      judgments: paidJudgments(parsed, solution.parsed.steps.length, rewards.verifierJudgment),
      solutionIsCorrect: solution.correct,
      formatScore,
      verifierCorrectnessWeight: rewards.verifierCorrectnessWeight,
      verifierFormatWeight: rewards.verifierFormatWeight,
    })
  );
  const scored: ScoredResponse[] = critiques.map(({ rollout }, i) => ({
    group: Math.floor(i / groupSize),
    responseLength: rollout.tokens.length,
    reward: earned[i],
    stepRewards: [],
    stepEndTokens: [],
  }));
  const counts = updateClassCounts(
    classCounts,
    solutions.map(({ correct }) => correct),
    classReweighting.decay,
  );
  const coefficients = classCoefficients(
    counts,
    critiques.map(({ solution }) => solution.correct),
    classReweighting.method,
    classReweighting.scale,
  );
  const advantages = outcomeAdvantages(scored, advantage.estimator)
    .map((row, i) => row.map((advantage) => advantage * coefficients.perSample[i]));
  const unsound = findUnsound(solutions, critiques);
  const learned = await learnFrom(verifier, critiques, scored, advantages, unsound, options);
  return {
    rewarded: critiques.map((critique, i) => ({
      critique,
      reward: earned[i],
      advantages: advantages[i],
    })),
    ...learned,
    classCounts: counts,
    coefficients,
  };
}
