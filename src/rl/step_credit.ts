/** What is said of the steps of a batch's solutions, and what their credit goes by. */

import { expectedSteps } from "./advantage/expected_steps.ts";
import {
  constantJudgments,
  dealtJudgments,
  needsVerifier,
  type StepJudgments,
  stepJudgments,
} from "./advantage/step_judgments.ts";
import type { GeneratorStepOptions, RewardedSolution } from "./generator_step.ts";
import type { Critique, ProblemSource, Solution } from "./responses.ts";

/**
 * Whether a critique may end at the first step that it flags: nothing goes by the steps after it, nor by the verdict.
 * With several critiques of a solution their mean goes by all steps.
 */
export function judgedUntilError<Problem>(
  { advantage, judgments, rewards, rollout }: GeneratorStepOptions<Problem>,
): boolean {
  return advantage.process === "until-error" && judgments !== null && needsVerifier(judgments) &&
    rewards.groundTruthWeight === 1 && rollout.verificationsPerSolution === 1;
}

/** What is said of the steps of each solution. */
export function judge<Problem>(
  source: ProblemSource<Problem>,
  solutions: readonly Solution<Problem>[],
  critiquesBy: ReadonlyMap<Solution<Problem>, readonly Critique<Problem>[]>,
  options: GeneratorStepOptions<Problem>,
): StepJudgments[] {
  const { judgments, advantage, sampling } = options;
  if (judgments === null || judgments === "prefix") return solutions.map(() => null);
  const judgeable = solutions.map((solution) => {
    const { problem, parsed: { steps } } = solution;
    return {
      stepCount: steps.length,
      critiques: critiquesBy.get(solution)?.map(({ parsed }) => parsed) ?? [],
      trueLabels() {
        if (source.labelSteps) return source.labelSteps(problem, steps.map(({ text }) => text));
        throw new Error(`${source.sourceName(problem)} has no true labels of steps`);
      },
    };
  });
  const { seed, step } = sampling;
  const { oracleAccuracy, judged } = advantage;
  const untilError = judgedUntilError(options);
  const told = stepJudgments(judgeable, {
    source: judgments,
    oracleAccuracy,
    untilError,
    seed,
    step,
  });
  return told.map((own, i) =>
    needsVerifier(judgments) && judged === "wrong" && solutions[i].correct
      ? constantJudgments(judgeable[i].stepCount)
      : own
  );
}

/** The verifier's judgments dealt out at random; those that right solutions have from their answers stay. */
export function dealt<Problem>(
  judged: readonly StepJudgments[],
  solutions: readonly Solution<Problem>[],
  { advantage, sampling }: GeneratorStepOptions<Problem>,
): StepJudgments[] {
  const stays = solutions.map(({ correct }) => correct && advantage.judged === "wrong");
  const dealt = dealtJudgments(judged.map((own, i) => stays[i] ? null : own), sampling);
  return dealt.map((own, i) => stays[i] ? judged[i] : own);
}

/**
 * What credit goes by where steps are judged by their changes of value. The last one is made by all that follows the
 * step before, the answer too. What leaving a step out costs is in the values already.
 */
export function creditByValue<Problem>(
  { solution: { rollout: { tokens } }, stepEndTokens }: Pick<
    RewardedSolution<Problem>,
    "solution" | "stepEndTokens"
  >,
  changes: readonly number[],
) {
  const ends = [...stepEndTokens.slice(0, -1), tokens.length - 1];
  return {
    stepRewards: changes,
    stepEndTokens: ends,
    judgments: changes,
    ownStepEnds: ends,
    missingSteps: 0,
  };
}

/** Steps that each solution's problem needs: true numbers for true labels, else what outcomes tell. */
export function expectedStepsOf<Problem>(
  source: ProblemSource<Problem>,
  solutions: readonly Solution<Problem>[],
  groups: readonly number[],
  { judgments }: GeneratorStepOptions<Problem>,
): number[] {
  if (judgments !== "oracle") {
    return expectedSteps(solutions.map(({ correct, parsed }, i) => ({
      group: groups[i],
      isCorrect: correct,
      stepCount: parsed.steps.length,
    })));
  }
  return solutions.map(({ problem }) => {
    if (source.neededSteps) return source.neededSteps(problem);
    throw new Error(`${source.sourceName(problem)} does not know how many steps a problem needs`);
  });
}

/**
 * Step rewards are divided by their number where they are summed up, as published, and nowhere else; changes of value
 * are not, whose sum is what the whole solution changes.
 */
export function stepRewardsOf<Problem>(
  critiqued: readonly number[] | null,
  judgments: StepJudgments,
  options: GeneratorStepOptions<Problem>,
): readonly number[] {
  if (judgments === null) return [];
  if (options.advantage.process !== "sum-to-go" || options.judgments === "prefix") return judgments;
  // The mean of the critiques' own quotients: the published order of operations, to the last bit.
  if (options.judgments === "verifier" && critiqued) return critiqued;
  return judgments.map((judgment) => judgment / judgments.length);
}
