import type { Metrics } from "../store/metrics_log.ts";
import { critiqueMetrics, goldStepsOf } from "../../rl/evaluation.ts";
import type { GeneratorStepResult, RewardedSolution } from "../../rl/generator_step.ts";
import type { PolicyUpdateMetrics } from "../../rl/update/policy_update.ts";
import type { PrefixValues } from "../../rl/prefix_values.ts";
import type { ProblemSource } from "../../rl/responses.ts";
import type { RolloutResponse } from "../../engine/sampling/rollout.ts";
import type { Tokenizer } from "../../model/tokenizer/tokenizer.ts";
import { mean, sampleVariance } from "../../base/statistics.ts";
import {
  stepAccuracies,
  verdictIsConjunctionShare,
  type VerifierMetrics,
} from "../../rl/measures/verifier_metrics.ts";
import type { VerifierStepResult } from "../../rl/verifier_step.ts";
import { judgmentAccuracy, type JudgmentQuality } from "../../rl/advantage/judgment_quality.ts";
import { auroc } from "../../rl/measures/step_judgments.ts";
import { stepHabits } from "../../rl/measures/step_habits.ts";
import { METRIC } from "../store/metric_names.ts";

const average = (values: readonly number[]) => values.length === 0 ? 0 : mean(values);
const share = (values: readonly boolean[]) => average(values.map((value) => value ? 1 : 0));
const deviation = (values: readonly number[]) =>
  values.length < 2 ? 0 : Math.sqrt(sampleVariance(values));

/** Metrics of a generator step. */
export function generatorMetrics<Problem>(
  source: ProblemSource<Problem>,
  result: GeneratorStepResult<Problem>,
  { learningRate }: { readonly learningRate: number },
): Metrics {
  const { judged, alpha, judgmentQuality, update, fracRewardZeroStd, valued } = result;
  const rewards = judged.map(({ reward }) => reward.outcome);
  const critiques = judged.flatMap(({ critiques }) => critiques);
  // Where a verifier judges some solutions, the others' steps are right because their answers are.
  const credited = critiques.length === 0
    ? judged
    : judged.filter(({ critiques }) => critiques.length > 0);
  const stepRewards = credited.flatMap(({ reward }) => reward.steps);
  const isJudged = critiques.length > 0 || stepRewards.length > 0;
  const ended = critiques.filter(({ parsed }) => parsed.verdict === null && parsed.endsAtError);
  // To flag a step is to say that the solution is wrong.
  const verdicts = critiques.map(({ parsed: { verdict, endsAtError }, solution }) => ({
    verdict: verdict ?? (endsAtError ? false : null),
    correct: solution.correct,
  }));
  return {
    [METRIC.generatorReward]: average(rewards),
    "generator/reward_std": deviation(rewards),
    "generator/frac_reward_zero_std": fracRewardZeroStd,
    "generator/accuracy": share(judged.map(({ solution }) => solution.correct)),
    "generator/format_score": average(judged.map(({ solution }) => solution.formatScore)),
    [METRIC.generatorSteps]: average(judged.map(({ solution }) => solution.parsed.steps.length)),
    "generator/max_steps": Math.max(...judged.map(({ solution }) => solution.parsed.steps.length)),
    ...habitMetrics(source, judged),
    "generator/sampled_batches": result.sampledBatches,
    "generator/frac_unequal_rewards": result.unequalShare,
    ...Object.fromEntries(
      Object.entries(result.rewardMetrics).map((
        [name, value],
      ) => [`generator/reward/${name}`, value]),
    ),
    [METRIC.alpha]: alpha,
    ...lengthMetrics("generator", judged.map(({ solution }) => solution.rollout)),
    ...updateMetrics("generator", update, learningRate),
    ...qualityMetric(judgmentQuality),
    ...(isJudged
      ? {
        "generator/step_reward": average(stepRewards),
        "generator/frac_with_step_rewards": share(
          credited.map(({ reward }) => reward.steps.length > 0),
        ),
      }
      : {}),
    ...(valued === null ? {} : valueMetrics(valued)),
    ...scoreMetrics(judged),
    ...(critiques.length === 0 ? {} : {
      "generator/frac_ended_at_error": ended.length / critiques.length,
      "generator/solutions_cut": share(critiques.map(({ isCut }) => isCut)),
      "generator/verdict_disagreement": share(
        verdicts.map(({ verdict, correct }) => verdict !== null && verdict !== correct),
      ),
      "generator/verdict_unparsed": share(verdicts.map(({ verdict }) => verdict === null)),
    }),
    // Those that end at a flagged step have no verdict to set beside it.
    ...(critiques.length === 0 || ended.length > 0 ? {} : conjunctionMetric(
      "generator",
      verdictIsConjunctionShare(critiques.map(({ parsed }) => parsed)),
    )),
  };
}

/** Counts of what rewards for steps invite to: see `StepHabits`. */
function habitMetrics<Problem>(
  source: ProblemSource<Problem>,
  judged: readonly RewardedSolution<Problem>[],
): Metrics {
  const habits = stepHabits(judged.map(({ solution, stepEndTokens, expectedSteps }) => ({
    question: source.question(solution.problem),
    steps: solution.parsed.steps.map(({ text }) => text),
    text: solution.text,
    stepEndTokens,
    expectedSteps: source.neededSteps?.(solution.problem) ?? expectedSteps,
  })));
  return {
    [METRIC.moreSteps]: habits.moreShare,
    [METRIC.fewerSteps]: habits.fewerShare,
    [METRIC.emptySteps]: habits.emptyShare,
    [METRIC.repeatedSteps]: habits.repeatedShare,
    [METRIC.trailingText]: habits.trailingShare,
    [METRIC.stepTokens]: habits.meanTokens,
  };
}

/** Values of the beginnings that the generator went on from, and what that cost. */
function valueMetrics(valued: PrefixValues): Metrics {
  // The last value of each is the solution's own outcome.
  const begun = valued.values.flatMap((ofSolution) => ofSolution.slice(0, -1));
  return {
    ...(begun.length === 0 ? {} : { "generator/prefix_value": mean(begun) }),
    "generator/continuation_tokens": valued.sampledTokens,
  };
}

/** What a reward model says of a step's solutions, and how well that tells right ones from wrong ones. */
function scoreMetrics(judged: readonly RewardedSolution<unknown>[]): Metrics {
  const scored = judged.flatMap(({ score, solution }) =>
    score === null ? [] : [{ ...score, isWrong: !solution.correct }]
  );
  if (scored.length === 0) return {};
  const wrong = scored.filter(({ isWrong }) => isWrong).length;
  return {
    "generator/score": average(scored.map(({ probability }) => probability)),
    ...(wrong > 0 && wrong < scored.length
      ? {
        "generator/quality_auroc": auroc(
          scored.map(({ logit, isWrong }) => ({ score: -logit, isWrong })),
        ),
      }
      : {}),
  };
}

/** What `advantage.alpha.schedule: earned` goes by, whether or not alpha is earned. */
function qualityMetric(quality: JudgmentQuality | null): Metrics {
  const accuracy = quality && judgmentAccuracy(quality);
  return accuracy === null ? {} : { [METRIC.judgmentQuality]: accuracy };
}

/**
 * Metrics of a verifier step.
 *
 * @param tokenizer the verifier's
 */
export function verifierStepMetrics<Problem>(
  source: ProblemSource<Problem>,
  result: VerifierStepResult<Problem>,
  { learningRate }: { readonly learningRate: number },
  tokenizer: Tokenizer,
): Metrics {
  const { rewarded, update, classCounts, coefficients, fracRewardZeroStd } = result;
  const rewards = rewarded.map(({ reward }) => reward);
  const critiques = rewarded.map(({ critique }) => critique);
  return {
    [METRIC.verifierReward]: average(rewards),
    "verifier/reward_std": deviation(rewards),
    "verifier/frac_reward_zero_std": fracRewardZeroStd,
    "verifier/format_score": average(critiques.map(({ formatScore }) => formatScore)),
    "verifier/solutions_correct": share(critiques.map(({ solution }) => solution.correct)),
    "verifier/solutions_cut": share(critiques.map(({ isCut }) => isCut)),
    ...judgingMetrics("verifier", critiqueMetrics(source, critiques, tokenizer)),
    "verifier/class_count_positive": classCounts.positive,
    "verifier/class_count_negative": classCounts.negative,
    "verifier/class_coefficient_positive": coefficients.positive,
    "verifier/class_coefficient_negative": coefficients.negative,
    ...qualityMetric(result.judgmentQuality),
    ...paidStepMetrics(source, result),
    ...lengthMetrics("verifier", critiques.map(({ rollout }) => rollout)),
    ...updateMetrics("verifier", update, learningRate),
  };
}

/** What step judgments earned, and how far that says which steps are right where the task can tell. */
function paidStepMetrics<Problem>(
  source: ProblemSource<Problem>,
  { paidSteps, rewarded }: VerifierStepResult<Problem>,
): Metrics {
  if (paidSteps === null) return {};
  const { values, rewards, counts, sampledTokens } = paidSteps;
  const solutions = [...new Set(rewarded.map(({ critique }) => critique.solution))];
  const worth = values.map((ofSolution) => ofSolution.map((value) => value > 0));
  const { stepBalancedAccuracy } = stepAccuracies(solutions.map((solution, s) => ({
    stepJudgments: worth[s],
    goldSteps: goldStepsOf(source, solution),
  })));
  return {
    "verifier/step_reward": average(rewards.flat()),
    // Where steps are paid for outcomes alone, no beginning has a value of its own.
    ...(sampledTokens === 0 ? {} : {
      "verifier/prefix_value": average(values.flat()),
      "verifier/prefix_worth": share(worth.flat()),
    }),
    "verifier/step_count_positive": counts.reduce((all, { positive }) => all + positive, 0),
    "verifier/step_count_negative": counts.reduce((all, { negative }) => all + negative, 0),
    ...(stepBalancedAccuracy === null
      ? {}
      : { "verifier/paid_labels_balanced_accuracy": stepBalancedAccuracy }),
  };
}

/** A verifier's quality under a prefix: `verifier` in training, `eval/verifier` held out. */
export function judgingMetrics(prefix: string, metrics: VerifierMetrics): Metrics {
  return {
    [`${prefix}/accuracy`]: metrics.accuracy,
    [`${prefix}/balanced_accuracy`]: metrics.balancedAccuracy,
    [`${prefix}/precision`]: metrics.precision,
    [`${prefix}/recall`]: metrics.recall,
    [`${prefix}/f1_score`]: metrics.f1,
    [`${prefix}/verdict_unparsed`]: metrics.unparsedShare,
    [`${prefix}/steps_equal`]: metrics.equalStepsShare,
    [`${prefix}/steps_fewer`]: metrics.fewerStepsShare,
    [`${prefix}/steps_more`]: metrics.moreStepsShare,
    ...conjunctionMetric(prefix, metrics.verdictIsConjunctionShare),
    ...(metrics.stepAccuracy === null ? {} : { [`${prefix}/step_accuracy`]: metrics.stepAccuracy }),
    ...ifKnown(prefix, {
      step_balanced_accuracy: metrics.stepBalancedAccuracy,
      step_f1_score: metrics.stepF1,
      first_error_accuracy: metrics.firstErrorAccuracy,
      step_balanced_accuracy_in_wrong: metrics.stepBalancedAccuracyInWrong,
      step_auroc_in_wrong: metrics.stepAurocInWrong,
      step_auroc_in_wrong_by_place: metrics.stepAurocInWrongByPlace,
      own_result_differs: metrics.ownResultDiffersShare,
      own_result_agrees: metrics.ownResultAgreesShare,
    }),
  };
}

/** Whether verdicts follow from the step judgments. */
function conjunctionMetric(prefix: string, share: number | null): Metrics {
  return share === null ? {} : { [`${prefix}/verdict_is_conjunction`]: share };
}

/** Those of some metrics that there are. */
function ifKnown(prefix: string, metrics: Readonly<Record<string, number | null>>): Metrics {
  return Object.fromEntries(
    Object.entries(metrics).flatMap(([name, value]) =>
      value === null ? [] : [[`${prefix}/${name}`, value]]
    ),
  );
}

function lengthMetrics(policy: string, responses: readonly RolloutResponse[]): Metrics {
  const lengths = responses.map(({ tokens }) => tokens.length);
  return {
    [`${policy}/completions/mean_length`]: average(lengths),
    [`${policy}/completions/min_length`]: Math.min(...lengths),
    [`${policy}/completions/max_length`]: Math.max(...lengths),
    [`${policy}/completions/clipped_ratio`]: share(responses.map(({ finished }) => !finished)),
  };
}

function updateMetrics(
  policy: string,
  update: PolicyUpdateMetrics | null,
  learningRate: number,
): Metrics {
  if (update === null) {
    return { [`${policy}/learning_rate`]: learningRate, [`${policy}/skipped_updates`]: 1 };
  }
  return {
    [`${policy}/policy_loss`]: update.policyLoss,
    [`${policy}/kl`]: update.kl,
    [`${policy}/entropy`]: update.entropy,
    [`${policy}/clip_ratio`]: update.clipRatio,
    [`${policy}/ratio`]: update.ratioMean,
    [`${policy}/frac_masked`]: update.maskedShare,
    [`${policy}/grad_norm`]: update.gradientNorm,
    [`${policy}/non_finite_gradients`]: update.nonFinite,
    [`${policy}/skipped_updates`]: update.applied.filter((isApplied) => !isApplied).length,
    [`${policy}/learning_rate`]: learningRate,
    [`${policy}/response_tokens`]: update.tokens,
    ...measured(`${policy}/experts/max_load`, update.expertLoad?.largest ?? null),
    ...measured(`${policy}/experts/unused`, update.expertLoad?.unused ?? null),
    ...measured(METRIC.logProbDifference, update.logProbDifferenceMax),
    ...measured("sampling/logp_difference/mean", update.logProbDifferenceMean),
  };
}

/** A metric that is absent where nothing was measured. */
function measured(name: string, value: number | null): Metrics {
  return value === null ? {} : { [name]: value };
}
