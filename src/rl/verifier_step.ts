import type { Sampling } from "../engine/sampling/rollout.ts";
import {
  type ClassCoefficients,
  classCoefficients,
  type ClassCounts,
  type ReweightMethod,
  type ReweightScale,
  updateClassCounts,
} from "./advantage/class_reweighting.ts";
import {
  type JudgmentQuality,
  type OutcomeOfJudged,
  QUALITY_DECAY,
  updateJudgmentQuality,
} from "./advantage/judgment_quality.ts";
import { critiquedJudgments } from "./advantage/step_judgments.ts";
import { Judging } from "./judging.ts";
import { type Learned, learnFrom, type LearningOptions } from "./learn_from.ts";
import { outcomeAdvantages } from "./advantage/outcome_advantages.ts";
import type { Policy } from "./policy.ts";
import type { GeneratorTemplate, VerifierTemplate } from "./prompt_template.ts";
import {
  type Critique,
  type ProblemSource,
  type Solution,
  solve,
  tokensOf,
  verify,
} from "./responses.ts";
import {
  type PaidJudgment,
  paidJudgments,
  stepJudgmentRewards,
  verifierReward,
} from "./reward/rewards.ts";
import type { AdvantageEstimator, ScoredResponse } from "./advantage/scored_response.ts";
import { stepCoefficients, type StepCounts, updateStepCounts } from "./advantage/step_classes.ts";
import { stepCredit, withStepCredit } from "./advantage/step_credit.ts";
import { pairedSolutions } from "./paired_solutions.ts";
import {
  type ContinuationOptions,
  outcomeValues,
  type PrefixValues,
  prefixValues,
} from "./prefix_values.ts";
import { inGroups } from "../base/in_groups.ts";
import type { ParsedCritique } from "./text/parse_critique.ts";
import { tokenSpans } from "./text/token_spans.ts";
import { findUnsound } from "./soundness.ts";

/** Settings of a verifier step. */
export interface VerifierStepOptions<Problem> extends LearningOptions {
  readonly rollout: {
    /** n, critiques of each solution */
    readonly groupSize: number;
    /** Fresh solutions of each problem, of which `pairedSolutions` chooses; with 1 there is nothing to choose. */
    readonly candidates: number;
  };
  readonly rewards: {
    readonly minimumSteps: number;
    readonly verifierCorrectnessWeight: number;
    readonly verifierFormatWeight: number;
    /** Which judgment of a solution is paid. */
    readonly verifierJudgment: PaidJudgment;
  };
  readonly advantage: {
    readonly estimator: AdvantageEstimator;
    /** Solutions that the verifier judges in generator steps. */
    readonly judged: "all" | "wrong";
  };
  readonly classReweighting: {
    readonly method: ReweightMethod;
    readonly decay: number;
    readonly scale: ReweightScale;
  };
  /** Solutions to judge before fresh ones of the problems. */
  readonly earlier: readonly Solution<Problem>[];
  /** How step judgments are paid; null: they are not. */
  readonly steps: StepPay | null;
  /** The moving averages so far; null before anything was judged. */
  readonly judgmentQuality: JudgmentQuality | null;
  readonly sampling: Sampling;
  /** That of the critiques that generator steps go by; null: the same. */
  readonly judgingSampling: Sampling | null;
  /** Sampling of the solutions to judge. */
  readonly generatorSampling: Sampling;
}

/**
 * How step judgments are paid: for telling from which steps' ends the generator still finds a right answer, or whether
 * the solution has.
 */
export interface StepPay {
  /** How the generator goes on from the end of each step; null: a beginning is worth what its solution came to. */
  readonly continuations: ContinuationOptions | null;
  /** Share of a step's own advantage in the advantage of its tokens. */
  readonly weight: number;
  /** The moving averages of right and wrong beginnings so far; null before the first verifier step. */
  readonly counts: StepCounts | null;
}

/** What paying the step judgments took and gave. */
export interface PaidSteps {
  /** For each solution, for each of its steps, the value of the beginning that it ends. */
  readonly values: readonly (readonly number[])[];
  /** For each critique, for each step of its solution, what its judgment earned. */
  readonly rewards: readonly (readonly number[])[];
  /** The moving averages after this step. */
  readonly counts: StepCounts;
  /** Tokens of the continuations. */
  readonly sampledTokens: number;
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
  /** The moving averages after this step; null where generator steps measure them. */
  readonly judgmentQuality: JudgmentQuality | null;
  /** Null where they are not paid. */
  readonly paidSteps: PaidSteps | null;
  /** Tokens of fresh solutions, those that were not chosen too, of all critiques, and of what values judgments. */
  readonly sampledTokens: number;
}

/**
 * A verifier step (V-step): one fresh solution of each problem besides earlier ones, a group of critiques of each, the
 * reward for its judgment of the whole and the format, perhaps that for its step judgments, class-reweighted
 * advantages, policy update.
 *
 * @param classCounts the moving averages so far; null before the first verifier step
 */
export async function verifierStep<Problem>(
  generator: Policy<GeneratorTemplate>,
  verifier: Policy<VerifierTemplate>,
  source: ProblemSource<Problem>,
  problems: readonly Problem[],
  classCounts: ClassCounts | null,
  options: VerifierStepOptions<Problem>,
): Promise<VerifierStepResult<Problem>> {
  const { rollout, rewards, advantage, classReweighting, earlier, during } = options;
  const { groupSize, candidates } = rollout;
  const judging = new Judging(generator, verifier, source, {
    count: groupSize,
    sampling: options.sampling,
    solutions: earlier.length + problems.length,
    judgesRight: true,
    asTheyCome: earlier.length === 0 && candidates === 1,
  });
  const fresh = problems.length === 0
    ? []
    : await during("rollout", () =>
      solve(generator, source, problems, {
        count: candidates,
        minimumSteps: rewards.minimumSteps,
        sampling: options.generatorSampling,
        listener: judging.listener,
      }));
  const solutions = [
    ...earlier,
    ...candidates === 1 ? fresh : pairedSolutions(inGroups(fresh, candidates)),
  ];
  const critiques = await during("verification", () => judging.critiquesOf(solutions));
  // What judgments are worth shows in solutions as generator steps have them: of a right and a wrong one that were
  // chosen for it, the right one is right by luck more often.
  const { judgingSampling } = options;
  const asSampled = [...earlier, ...inGroups(fresh, candidates).map(([first]) => first)];
  const measured = advantage.judged === "all"
    ? null
    : judgingSampling === null && candidates === 1
    ? critiques
    : await during(
      "verification",
      () => verify(verifier, source, asSampled, 1, judgingSampling ?? options.sampling),
    );
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
  const outcome = outcomeAdvantages(scored, advantage.estimator)
    .map((row, i) => row.map((advantage) => advantage * coefficients.perSample[i]));
  const { steps: pay } = options;
  const goOn = (continuations: ContinuationOptions) =>
    during("continuation", () => prefixValues(generator, source, solutions, continuations));
  const paid = pay && paySteps(
    verifier,
    critiques,
    pay.continuations ? await goOn(pay.continuations) : outcomeValues(solutions),
    pay,
    options,
  );
  const advantages = pay && paid ? withStepCredit(outcome, paid.credit, pay.weight) : outcome;
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
    judgmentQuality: measured && updateJudgmentQuality(
      options.judgmentQuality,
      measured.map(outcomeOfJudged),
      QUALITY_DECAY.verifier,
    ),
    paidSteps: paid && paid.steps,
    sampledTokens: tokensOf(fresh) + tokensOf(critiques) +
      tokensOf(measured === critiques ? [] : measured ?? []) +
      (paid?.steps.sampledTokens ?? 0),
  };
}

/** What one critique says of the steps of its solution. */
function outcomeOfJudged({ solution, parsed }: Critique<unknown>): OutcomeOfJudged {
  const { correct, parsed: { steps } } = solution;
  return { isCorrect: correct, judgments: critiquedJudgments([parsed], steps.length) };
}

/**
 * What the step judgments earn: a judgment is right when it says whether the beginning up to its step's end is worth
 * anything. Right and wrong beginnings of a length count alike, as solutions do.
 */
function paySteps<Problem>(
  verifier: Policy<VerifierTemplate>,
  critiques: readonly Critique<Problem>[],
  { values, sampledTokens }: PrefixValues,
  { continuations, counts: before }: StepPay,
  { rollout: { groupSize }, advantage, classReweighting }: VerifierStepOptions<Problem>,
): { readonly steps: PaidSteps; readonly credit: (number | null)[][] } {
  // That the answer is wrong says little of a step's work: only the judgment is told.
  const paysWork = continuations !== null;
  const worth = values.map((ofSolution) => ofSolution.map((value) => value > 0));
  const counts = updateStepCounts(before, worth, classReweighting.decay);
  const labels = critiques.map((_, i) => worth[Math.floor(i / groupSize)]);
  const weights = stepCoefficients(
    counts,
    labels,
    classReweighting.method,
    classReweighting.scale,
  );
  const rewards = critiques.map(({ parsed }, i) => stepJudgmentRewards(parsed, labels[i]));
  const credit = stepCredit(
    critiques.map(({ parsed, rollout: { tokens } }, i) => ({
      group: Math.floor(i / groupSize),
      responseLength: tokens.length,
      rewards: rewards[i],
      weights: weights[i],
      spans: parsed.stepJudgments.length === labels[i].length
        ? paidSpans(verifier.tokenizer.decodeEach(tokens), parsed, paysWork)
        : null,
    })),
    advantage.estimator,
  );
  return { steps: { values, rewards, counts, sampledTokens }, credit };
}

/** The tokens of a critique's steps, and those of them that are paid: all, or those of the judgment. */
function paidSpans(
  texts: readonly string[],
  { judgedSteps, judgmentStarts }: ParsedCritique,
  paysWork: boolean,
) {
  const steps = tokenSpans(texts, judgedSteps);
  const judgments = tokenSpans(
    texts,
    judgedSteps.map(({ end }, step) => ({ start: judgmentStarts[step], end })),
  );
  return steps.map((step, k) => ({ ...step, paid: paysWork ? step.first : judgments[k].first }));
}
