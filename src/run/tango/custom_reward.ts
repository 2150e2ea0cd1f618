import type { SolutionReward } from "../../rl/generator_step.ts";
import type { ProblemSource } from "../../rl/responses.ts";
import { callReward, loadRewardModule } from "../../rl/reward/reward_module.ts";

/** A reward module's function, for the problems of a source. */
export type CustomReward = <Problem>(source: ProblemSource<Problem>) => SolutionReward<Problem>;

/**
 * Loads a reward module.
 *
 * @returns null when none is named
 * @throws UserError when it cannot be imported or exports no function
 */
export async function openReward(path: string | null): Promise<CustomReward | null> {
  if (path === null) return null;
  const reward = await loadRewardModule(path);
  return (source) => ({ problem, text, parsed, rollout, correct }) =>
    callReward(reward, {
      question: source.question(problem),
      referenceAnswer: source.referenceAnswer(problem),
      source: source.sourceName(problem),
      response: text,
      answer: parsed.answer,
      steps: parsed.steps.map((step) => step.text),
      finished: rollout.finished,
      correct,
    }, path);
}
