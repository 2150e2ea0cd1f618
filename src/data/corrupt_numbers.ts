import { chooseInteger, chooseItem } from "./choose.ts";
import type { Uniform } from "./task.ts";

/** A worked solution: its steps and its answer. */
export interface WorkedSolution {
  readonly steps: readonly string[];
  readonly answer: string;
}

/** A worked solution with a mistake in it. */
export interface MistakenSolution extends WorkedSolution {
  /** Whether each step is as it was. */
  readonly isRight: readonly boolean[];
}

/** A number that is not part of a word or of another number. */
export const NUMBER = /(?<![\w.])\d+(?:\.\d+)?(?![\w]|\.\d)/g;

/**
 * A worked solution with one number wrong: the last one of some step, which is usually its result. The
 * mistake is carried on: the same number is wrong in later steps and in the answer.
 *
 * @returns null when no step has a number in it
 */
export function corruptNumbers(
  { steps, answer }: WorkedSolution,
  uniform: Uniform,
): MistakenSolution | null {
  const places = steps.flatMap((step, index) => step.match(NUMBER) ? [index] : []);
  if (places.length === 0) return null;
  const place = chooseItem(uniform, places);
  const right = (steps[place].match(NUMBER) ?? []).at(-1) ?? "";
  const wrong = wrongNumber(right, uniform);
  const carried = (text: string) =>
    text.replace(NUMBER, (number) => number === right ? wrong : number);
  const mistaken = steps.map((step, index) => {
    if (index < place) return step;
    return index === place ? replaceLast(step, right, wrong) : carried(step);
  });
  return {
    steps: mistaken,
    answer: carried(answer),
    isRight: mistaken.map((step, index) => step === steps[index]),
  };
}

/** A number near the right one, with as many decimals. */
export function wrongNumber(right: string, uniform: Uniform): string {
  const decimals = right.split(".")[1]?.length ?? 0;
  const unit = 10 ** -decimals;
  const difference = chooseInteger(uniform, 1, 9) * unit;
  const value = Number(right);
  const isMore = value - difference < 0 || uniform() < 0.5;
  return (isMore ? value + difference : value - difference).toFixed(decimals);
}

function replaceLast(text: string, found: string, replacement: string): string {
  const at = text.lastIndexOf(found);
  return text.slice(0, at) + replacement + text.slice(at + found.length);
}
