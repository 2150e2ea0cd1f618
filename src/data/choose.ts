import type { Difficulty, Uniform } from "./task.ts";

/** An integer from minimum to maximum, both included. */
export function chooseInteger(uniform: Uniform, minimum: number, maximum: number): number {
  return minimum + Math.floor(uniform() * (maximum - minimum + 1));
}

/** One of the items, each as likely. Throws an Error when there is none. */
export function chooseItem<T>(uniform: Uniform, items: readonly T[]): T {
  if (items.length === 0) throw new Error("nothing to choose from");
  return items[chooseInteger(uniform, 0, items.length - 1)];
}

/** A number of steps within the difficulty. Throws an Error when it is not an integer range from 1 up. */
export function chooseStepCount(uniform: Uniform, difficulty: Difficulty): number {
  const { minimumSteps, maximumSteps } = difficulty;
  const isRange = Number.isInteger(minimumSteps) && Number.isInteger(maximumSteps) &&
    minimumSteps >= 1 && maximumSteps >= minimumSteps;
  if (!isRange) {
    throw new Error(
      `difficulty: found ${minimumSteps} to ${maximumSteps} steps, expected integers with ` +
        "1 <= minimumSteps <= maximumSteps",
    );
  }
  return chooseInteger(uniform, minimumSteps, maximumSteps);
}
