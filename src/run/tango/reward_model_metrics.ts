import { mean } from "../../base/statistics.ts";
import { goldStepsOf } from "../../rl/evaluation.ts";
import { auroc } from "../../rl/measures/step_judgments.ts";
import { verifierMetrics } from "../../rl/measures/verifier_metrics.ts";
import type { ProblemSource } from "../../rl/responses.ts";
import { crossEntropyOf, probabilityOf } from "../../rl/reward/solution_score.ts";
import type { RewardModel } from "../../rl/reward_model.ts";
import type { RewardModelStepResult, ScoredSolution } from "../../rl/reward_model_step.ts";
import { sumsOfSteps } from "../../rl/reward/step_sums.ts";
import { lastTokenOfSpans } from "../../rl/text/token_spans.ts";
import { METRIC } from "../store/metric_names.ts";
import type { Metrics } from "../store/metrics_log.ts";
import { judgingMetrics } from "./step_metrics.ts";

/** What metrics of its judgments are the same as those of a verifier that writes. */
const OF_VERDICTS = ["accuracy", "balanced_accuracy", "precision", "recall", "f1_score"];
const OF_STEPS = [
  "step_accuracy",
  "step_balanced_accuracy",
  "step_f1_score",
  "first_error_accuracy",
  "step_balanced_accuracy_in_wrong",
  "step_auroc_in_wrong",
  "step_auroc_in_wrong_by_place",
];

/**
 * How well a reward model tells right solutions from wrong ones, as a verifier's metrics under a prefix: a P(right)
 * above 1/2 is a verdict, and where tokens have rewards, more than 0 together are a step's judgment.
 */
export function rewardModelMetrics<Problem>(
  prefix: string,
  source: ProblemSource<Problem>,
  scored: readonly ScoredSolution<Problem>[],
): Metrics {
  const right = scored.filter(({ solution }) => solution.correct).length;
  const rewardsSteps = scored.some(({ score }) => score.tokens !== null);
  const metrics = judgingMetrics(
    prefix,
    verifierMetrics(scored.map(({ solution, score: { logit, tokens } }) => {
      const ends = lastTokenOfSpans(solution.tokenTexts, solution.parsed.steps);
      const steps = tokens === null ? [] : sumsOfSteps(tokens, ends);
      return {
        verdict: logit > 0,
        solutionIsCorrect: solution.correct,
        stepJudgments: steps.map((sum) => sum > 0),
        stepDoubts: steps.map((sum) => probabilityOf(-sum)),
        stepCount: solution.parsed.steps.length,
        goldSteps: goldStepsOf(source, solution),
        solution,
      };
    })),
  );
  const told = rewardsSteps ? [...OF_VERDICTS, ...OF_STEPS] : OF_VERDICTS;
  return {
    ...Object.fromEntries(
      told.map((name) => `${prefix}/${name}`).filter((name) => name in metrics)
        .map((name) => [name, metrics[name]]),
    ),
    [`${prefix}/loss`]: mean(
      scored.map(({ solution, score: { logit } }) => crossEntropyOf(logit, solution.correct)),
    ),
    [`${prefix}/score`]: mean(scored.map(({ score }) => score.probability)),
    // It takes solutions of both kinds.
    ...(right > 0 && right < scored.length
      ? {
        [`${prefix}/quality_auroc`]: auroc(
          scored.map(({ solution, score: { logit } }) => ({
            score: -logit,
            isWrong: !solution.correct,
          })),
        ),
      }
      : {}),
  };
}

/** Metrics of a verifier step of a reward model. */
export function rewardModelStepMetrics<Problem>(
  source: ProblemSource<Problem>,
  { scored, update, classCounts, coefficients }: RewardModelStepResult<Problem>,
  { hasReference }: Pick<RewardModel<Problem>, "hasReference">,
  { learningRate }: { readonly learningRate: number },
): Metrics {
  const told = rewardModelMetrics("verifier", source, scored);
  const solutionsOf = (isCorrect: boolean) =>
    scored.filter(({ solution }) => solution.correct === isCorrect).map(({ score }) => score.logit);
  const meanLogit = (name: string, logits: readonly number[]) =>
    logits.length === 0 ? {} : { [`verifier/logit_of_${name}`]: mean(logits) };
  return {
    // What a verifier's reward is paid for: the probability of what is true.
    [METRIC.verifierReward]: mean(
      scored.map(({ solution, score: { logit } }) =>
        probabilityOf(solution.correct ? logit : -logit)
      ),
    ),
    "verifier/solutions_correct": mean(scored.map(({ solution }) => solution.correct ? 1 : 0)),
    ...told,
    ...meanLogit("right", solutionsOf(true)),
    ...meanLogit("wrong", solutionsOf(false)),
    ...(hasReference ? { "verifier/token_reward": meanOfTokens(scored) } : {}),
    "verifier/class_count_positive": classCounts.positive,
    "verifier/class_count_negative": classCounts.negative,
    "verifier/class_coefficient_positive": coefficients.positive,
    "verifier/class_coefficient_negative": coefficients.negative,
    ...(update === null ? {} : {
      "verifier/grad_norm": update.gradientNorm,
      "verifier/non_finite_gradients": update.nonFinite,
      "verifier/weighted_loss": update.loss,
      "verifier/response_tokens": update.tokens,
    }),
    "verifier/skipped_updates": update === null
      ? 1
      : update.applied.filter((isApplied) => !isApplied).length,
    "verifier/learning_rate": learningRate,
  };
}

function meanOfTokens(scored: readonly ScoredSolution<unknown>[]): number {
  const all = scored.flatMap(({ score: { tokens } }) => Array.from(tokens ?? []));
  return all.length === 0 ? 0 : mean(all);
}
