/** Problems that no run of a bank was trained on. */

import { UserError } from "../../base/user_error.ts";
import { findTask } from "../../data/tasks.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { openProblems } from "../problems/open_problems.ts";
import type { Problems, PromptFit } from "../problems/problems.ts";
import type { BankRun } from "./bank_runs.ts";

/** Problems of a bank. */
export interface BankProblems {
  /** Who grades and labels them; dispose it. */
  readonly problems: Problems;
  readonly chosen: readonly unknown[];
}

/**
 * Chooses problems of the part that the runs hold out to be reported.
 *
 * An embedded task is drawn from as evaluations do, without repetitions. Where its problems have no part of their own
 * (`Task.splitOf`), those that any of the runs has drawn in training are left out.
 *
 * @param runs of which the first says the problems, see `requireSameProblems`
 * @param fits whether a question's prompts leave room in the models of every run
 * @param count of problems; files may have fewer
 * @param seed decides which
 * @throws UserError when none are left, or those of an embedded task leave no room
 */
export async function chooseProblems(
  runs: readonly BankRun[],
  fits: PromptFit,
  count: number,
  seed: number,
): Promise<BankProblems> {
  const [{ config }] = runs;
  if (config.data !== null) {
    const problems = await openHeldOut(config, fits, count, seed);
    const chosen = problems.heldOut("test");
    if (chosen.length > 0) return { problems, chosen };
    problems[Symbol.dispose]();
    throw new UserError("The runs' files hold out no problem: a bank needs some.");
  }
  const trainedOn = await questionsOf(runs);
  for (let drawn = count;; drawn *= 2) {
    const problems = await openHeldOut(config, fits, drawn, seed);
    const question = (problem: unknown) => problems.source.question(problem);
    const different = new Map(problems.heldOut("test").map((one) => [question(one), one]));
    const unseen = [...different].filter(([text]) => !trainedOn.has(text)).map(([, one]) => one);
    if (unseen.length < count) {
      if (drawn < MOST_DRAWN * count) continue;
      throw new UserError(
        `task: ${drawn} draws gave ${unseen.length} different problems that the runs were not trained on, and --problems ` +
          `is ${count}; lower it, or allow more steps with --maximum-steps.`,
      );
    }
    const chosen = unseen.slice(0, count);
    const long = chosen.filter((one) => !fits(question(one), Infinity)).length;
    if (long === 0) return { problems, chosen };
    throw new UserError(
      `task: ${long} of ${count} problems leave no room for the longest responses in the models' positions; lower ` +
        `--maximum-steps, or generator.max_response_length and verifier.max_response_length with --set.`,
    );
  }
}

/** Draws for each wanted problem after which it is clear that hardly any is left. */
const MOST_DRAWN = 16;

function openHeldOut(
  config: TangoConfig,
  fits: PromptFit,
  count: number,
  seed: number,
): Promise<Problems> {
  const evaluation = { ...config.evaluation, problems: count, seed };
  // Without a reference answer nobody knows which solutions are right.
  return openProblems({ ...config, evaluation }, fits, { answers: true, validation: false });
}

/** Questions that the runs have drawn in training, for a task of which two parts may share one. */
async function questionsOf(runs: readonly BankRun[]): Promise<ReadonlySet<string>> {
  const questions = new Set<string>();
  for (const { trainedWith: config, newestStep } of runs) {
    if (findTask(config.task.name).splitOf) continue;
    using problems = await openProblems(config, () => true, { answers: true, validation: false });
    const { batch_size, maximum_generation_batches: batches } = config.rollout;
    for (let step = 1; step <= newestStep; step++) {
      for (const problem of problems.draw(step, batch_size * batches)) {
        questions.add(problems.source.question(problem));
      }
    }
  }
  return questions;
}
