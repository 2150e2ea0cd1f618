import type { JudgedSolution } from "../../rl/generator_step.ts";
import type { Critique, ProblemSource, Solution } from "../../rl/responses.ts";
import type { RewardedCritique } from "../../rl/verifier_step.ts";
import type { CritiqueSample, Sample } from "../store/samples_log.ts";

/** Every `samples`-th of the items, so that a step's few samples come from different groups. */
function spread<Item>(items: readonly Item[], samples: number): Item[] {
  const every = Math.max(1, Math.floor(items.length / Math.max(1, samples)));
  return items.filter((_, i) => i % every === 0).slice(0, samples);
}

/** The lines of samples.jsonl of a generator step. */
export function generatorSamples<Problem>(
  step: number,
  source: ProblemSource<Problem>,
  judged: readonly JudgedSolution<Problem>[],
  count: number,
): Sample[] {
  return spread(judged, count).map((
    { solution, critiques, reward, advantages, stepEndTokens },
  ) => ({
    ...solutionSample(step, "generator", source, solution),
    critiques: critiques.map(critiqueSample),
    rewards: {
      ground_truth: solution.correct ? 1 : 0,
      format: solution.formatScore,
      outcome: reward.outcome,
    },
    stepRewards: reward.steps,
    // After the last step the process part is 0: the last token carries the outcome part alone.
    outcomeAdvantage: advantages[advantages.length - 1],
    stepAdvantages: stepEndTokens.map((token) => advantages[token]),
  }));
}

/** The lines of samples.jsonl of a verifier step. */
export function verifierSamples<Problem>(
  step: number,
  source: ProblemSource<Problem>,
  rewarded: readonly RewardedCritique<Problem>[],
  count: number,
): Sample[] {
  return spread(rewarded, count).map(({ critique, reward, advantages }) => ({
    ...solutionSample(step, "verifier", source, critique.solution),
    critiques: [{ ...critiqueSample(critique), reward, advantage: advantages[0] }],
  }));
}

/** The lines of samples.jsonl of an evaluation. */
export function evaluationSamples<Problem>(
  step: number,
  source: ProblemSource<Problem>,
  solutions: readonly Solution<Problem>[],
  critiques: readonly Critique<Problem>[],
  count: number,
): Sample[] {
  return spread(solutions, count).map((solution) => ({
    ...solutionSample(step, "evaluation", source, solution),
    critiques: critiques.filter((critique) => critique.solution === solution).map(critiqueSample),
  }));
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
