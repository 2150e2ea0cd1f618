import { spreadPlaces } from "../../base/spread_places.ts";
import type { Tokenizer } from "../../model/tokenizer/tokenizer.ts";
import type { GeneratorStepResult } from "../../rl/generator_step.ts";
import type { Critique, ProblemSource, Solution } from "../../rl/responses.ts";
import type { RewardModelStepResult } from "../../rl/reward_model_step.ts";
import { sumsOfSteps } from "../../rl/reward/step_sums.ts";
import { lastTokenOfSpans } from "../../rl/text/token_spans.ts";
import type { VerifierStepResult } from "../../rl/verifier_step.ts";
import { packTokens } from "../store/sample_tokens.ts";
import type { CritiqueSample, Sample } from "../store/samples_log.ts";

/** The lines of samples.jsonl of a generator step. */
export function generatorSamples<Problem>(
  step: number,
  source: ProblemSource<Problem>,
  { judged, update, leftOut }: GeneratorStepResult<Problem>,
  count: number,
): Sample[] {
  return spreadPlaces(judged.length, count).map((place) => {
    const { solution, critiques, score, reward, advantages, outcomeAdvantage, stepEndTokens } =
      judged[place];
    return {
      ...solutionSample(step, "generator", source, solution),
      critiques: critiques.map(critiqueSample),
      rewards: {
        ground_truth: solution.correct ? 1 : 0,
        format: solution.formatScore,
        outcome: reward.outcome,
        ...(score && { score: score.probability }),
      },
      stepRewards: reward.steps,
      outcomeAdvantage,
      stepAdvantages: stepEndTokens.map((token) => advantages[token]),
      tokens: packTokens({
        texts: solution.tokenTexts,
        advantages,
        differences: update?.logProbDifferences.get(place),
        rewards: score?.tokens,
        isLeftOut: leftOut[place],
      }),
    };
  });
}

/**
 * The lines of samples.jsonl of a verifier step.
 *
 * @param tokenizer the verifier's
 */
export function verifierSamples<Problem>(
  step: number,
  source: ProblemSource<Problem>,
  tokenizer: Tokenizer,
  { rewarded, update, leftOut }: VerifierStepResult<Problem>,
  count: number,
): Sample[] {
  return spreadPlaces(rewarded.length, count).map((place) => {
    const { critique, reward, advantages } = rewarded[place];
    const tokens = packTokens({
      texts: tokenizer.decodeEach(critique.rollout.tokens),
      advantages,
      differences: update?.logProbDifferences.get(place),
      isLeftOut: leftOut[place],
    });
    return {
      ...solutionSample(step, "verifier", source, critique.solution),
      critiques: [{ ...critiqueSample(critique), reward, advantage: advantages[0], tokens }],
    };
  });
}

/** The lines of samples.jsonl of a verifier step of a reward model. */
export function rewardModelSamples<Problem>(
  step: number,
  source: ProblemSource<Problem>,
  { scored }: RewardModelStepResult<Problem>,
  count: number,
): Sample[] {
  return spreadPlaces(scored.length, count).map((place) => {
    const { solution, score: { probability, tokens } } = scored[place];
    const ends = lastTokenOfSpans(solution.tokenTexts, solution.parsed.steps);
    return {
      ...solutionSample(step, "verifier", source, solution),
      critiques: [],
      rewards: { ground_truth: solution.correct ? 1 : 0, score: probability },
      ...(tokens && { stepRewards: sumsOfSteps(tokens, ends) }),
    };
  });
}

/** The lines of samples.jsonl of an evaluation. */
export function evaluationSamples<Problem>(
  step: number,
  source: ProblemSource<Problem>,
  solutions: readonly Solution<Problem>[],
  critiques: readonly Critique<Problem>[],
  count: number,
): Sample[] {
  return spreadPlaces(solutions.length, count).map((place) => {
    const solution = solutions[place];
    return {
      ...solutionSample(step, "evaluation", source, solution),
      critiques: critiques.filter((critique) => critique.solution === solution).map(critiqueSample),
    };
  });
}

function solutionSample<Problem>(
  step: number,
  phase: Sample["phase"],
  source: ProblemSource<Problem>,
  { problem, version, text, parsed, correct }: Solution<Problem>,
) {
  return {
    step,
    phase,
    version,
    problem: source.question(problem),
    referenceAnswer: source.referenceAnswer(problem),
    solution: text,
    steps: parsed.steps.map((one) => one.text),
    answer: parsed.answer,
    correct,
  };
}

function critiqueSample<Problem>({ version, text, parsed }: Critique<Problem>): CritiqueSample {
  return { version, text, stepJudgments: parsed.stepJudgments, verdict: parsed.verdict };
}
