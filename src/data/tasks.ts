import { arithmeticTask } from "./arithmetic.ts";
import { chainsTask } from "./chains.ts";
import { lastLetterTask } from "./last_letter.ts";
import type { Task } from "./task.ts";

const TASKS: readonly Task[] = [lastLetterTask, arithmeticTask, chainsTask];

/** Names of the embedded tasks. */
export const taskNames: readonly string[] = TASKS.map((task) => task.name);

/** The embedded task of a name. Throws an Error that lists the names when there is none. */
export function findTask(name: string): Task {
  const task = TASKS.find((candidate) => candidate.name === name);
  if (!task) {
    throw new Error(`task: found "${name}", expected one of ${taskNames.join(", ")}`);
  }
  return task;
}
