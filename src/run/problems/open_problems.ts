import { basename, dirname } from "../../platform/system/paths.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import type { DataConfig } from "../config/data_schema.ts";
import { FileProblems } from "./file_problems.ts";
import type { HeldOutChoice, Problems, PromptFit, Requires } from "./problems.ts";
import type { TaskConfig } from "../config/shared_schema.ts";
import { TaskProblems } from "./task_problems.ts";

interface ProblemConfig {
  readonly task: TaskConfig;
  readonly data: DataConfig | null;
  readonly seed: number;
  readonly evaluation: HeldOutChoice;
}

/**
 * Answers are what correctness goes by: a reward module can do without, a verifier in training cannot, for
 * it learns whether its verdict was right.
 */
export function requirementsOf({ rewards, verifier, schedule, advantage }: TangoConfig): Requires {
  return {
    answers: rewards.module === null || (verifier?.trained ?? false) ||
      advantage.judgments === "prefix",
    validation: schedule.keep_best,
  };
}

/**
 * Opens the problems that a configuration names.
 *
 * @throws UserError naming file and place when something cannot be read, or no problem is left
 */
export async function openProblems(
  { task, data, seed, evaluation }: ProblemConfig,
  fit: PromptFit,
  requires: Requires,
): Promise<Problems> {
  if (data !== null) return await FileProblems.open(data, seed, evaluation, fit, requires);
  const { problems } = evaluation;
  if (problems === null) throw new Error("all problems of a task that never ends");
  return new TaskProblems(task, seed, { ...evaluation, problems });
}

/** Name of the problems in titles and folder names: the task, or the first entry's source, file or folder. */
export function problemsName({ task, data }: {
  readonly task: TaskConfig;
  readonly data: Pick<DataConfig, "train"> | null;
}): string {
  if (data === null) return task.name;
  const [{ path, format, source }] = data.train;
  if (source !== null) return source;
  const stem = basename(path).split(".")[0];
  // Published sets call their files by what part of the set they hold.
  const isPart = /^(train|test|validation|data|part)(?![a-z])/i.test(stem);
  return (isPart ? format ?? basename(dirname(path)) : stem) || "data";
}
