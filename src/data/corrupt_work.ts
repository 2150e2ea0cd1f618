/**
 * Wrong solutions made from a worked one as people and models get them wrong: besides a wrong result a wrong
 * operation, a wrong number, a step left out, an answer that does not follow. What comes after the mistake is worked on
 * from it.
 */

import { chooseInteger, chooseItem } from "./choose.ts";
import {
  corruptNumbers,
  type MistakenSolution,
  NUMBER,
  type WorkedSolution,
  wrongNumber,
} from "./corrupt_numbers.ts";
import type { Uniform } from "./task.ts";
import { isRightClaim } from "./worked_critique.ts";

/** A calculation with two numbers: `12+7=19`, `12 + 7 = 19`. */
const CALCULATION =
  /(?<![\w.])(\d+(?:\.\d+)?)( ?)([-+*\/])( ?)(\d+(?:\.\d+)?)( ?= ?)(\d+(?:\.\d+)?)(?!\w|\.\d)/;

type Operator = "+" | "-" | "*" | "/";
const OPERATORS: readonly Operator[] = ["+", "-", "*", "/"];

interface Calculation {
  readonly left: string;
  readonly operator: Operator;
  readonly right: string;
  readonly result: string;
}

/** The kinds of mistake; each as likely where it can happen. */
const MISTAKES = ["result", "operation", "operand", "skippedStep", "answer"] as const;
type Mistake = (typeof MISTAKES)[number];

/** Draws after which the solution is taken to have no room for mistakes of its work. */
const MOST_DRAWS = 30;

/**
 * A worked solution with one mistake that is carried on to the answer; a solution without calculations has a wrong
 * number, as `corruptNumbers` makes it.
 *
 * @returns null when no step has a number in it
 */
export function corruptWork(right: WorkedSolution, uniform: Uniform): MistakenSolution | null {
  for (let draw = 0; draw < MOST_DRAWS; draw++) {
    const kind = chooseItem(uniform, MISTAKES);
    const place = chooseInteger(uniform, 0, Math.max(0, right.steps.length - 1));
    const wrong = mistaken(right, kind, place, uniform);
    if (wrong === null || wrong.answer === right.answer) continue;
    const isRight = wrong.steps.map((step, index) => isRightClaim(step, right.steps.at(index)));
    return { ...wrong, isRight };
  }
  const wrong = corruptNumbers(right, uniform);
  return wrong &&
    { ...wrong, isRight: wrong.steps.map((step, i) => isRightClaim(step, right.steps.at(i))) };
}

function mistaken(
  { steps, answer }: WorkedSolution,
  kind: Mistake,
  place: number,
  uniform: Uniform,
): WorkedSolution | null {
  const step = steps.at(place);
  const calculation = step === undefined ? null : readCalculation(step);
  if (kind === "answer") {
    const numbers = [...steps.flatMap((text) => text.match(NUMBER) ?? []), near(answer, uniform)];
    const others = numbers.filter((number) => number !== null && number !== answer);
    const given = chooseItem(uniform, others.length > 0 ? others : [answer]);
    return given === null ? null : { steps, answer: given };
  }
  if (step === undefined || calculation === null) return null;
  if (kind === "skippedStep") {
    if (steps.length === 1) return null;
    const later = [...steps.slice(place + 1), answer];
    return carryOn(steps.slice(0, place), later, calculation.result, calculation.left);
  }
  const changed = change(calculation, kind, steps, uniform);
  if (changed === null || changed.result === calculation.result) return null;
  const before = [...steps.slice(0, place), write(step, changed)];
  return carryOn(before, [...steps.slice(place + 1), answer], calculation.result, changed.result);
}

/** The calculation gone wrong; null where it cannot go wrong so. */
function change(
  calculation: Calculation,
  kind: "result" | "operation" | "operand",
  steps: readonly string[],
  uniform: Uniform,
): Calculation | null {
  if (kind === "result") {
    // As far off as a slip of the head, or by a ten as in carrying.
    const tens = Number(calculation.result) + chooseItem(uniform, [-10, 10]);
    const result = uniform() < 0.3 && tens >= 0
      ? text(tens, calculation.result)
      : wrongNumber(calculation.result, uniform);
    return { ...calculation, result };
  }
  if (kind === "operation") {
    const others = OPERATORS.filter((operator) => operator !== calculation.operator)
      .map((operator) => worked({ ...calculation, operator }))
      .filter((other) => other !== null && other.result !== calculation.result);
    return others.length === 0 ? null : chooseItem(uniform, others);
  }
  const side = uniform() < 0.5 ? "left" : "right";
  const numbers = steps.flatMap((text) => text.match(NUMBER) ?? []);
  const read = chooseItem(uniform, [...numbers, wrongNumber(calculation[side], uniform)]);
  return worked({ ...calculation, [side]: read });
}

/**
 * What follows from a number that is wrong: it stands wherever the right one stood, and each calculation with it is
 * worked anew. The last of `later` is the answer.
 */
function carryOn(
  before: readonly string[],
  later: readonly string[],
  right: string,
  wrong: string,
): WorkedSolution | null {
  const carried = new Map([[right, wrong]]);
  const replaced = (text: string) =>
    text.replace(NUMBER, (number) => carried.get(number) ?? number);
  const steps = [...before];
  for (const step of later.slice(0, -1)) {
    const calculation = readCalculation(step);
    if (calculation === null) {
      steps.push(replaced(step));
      continue;
    }
    const left = replaced(calculation.left), operand = replaced(calculation.right);
    const anew = worked({ ...calculation, left, right: operand });
    if (anew === null) return null;
    steps.push(write(step, anew));
    if (anew.result !== calculation.result) carried.set(calculation.result, anew.result);
  }
  return { steps, answer: replaced(later.at(-1) ?? "") };
}

function readCalculation(step: string): Calculation | null {
  const match = CALCULATION.exec(step);
  if (match === null) return null;
  const [, left, , operator, , right, , result] = match;
  return { left, operator: operator as Operator, right, result };
}

/** The step with another calculation in the place of its own. */
function write(step: string, { left, operator, right, result }: Calculation): string {
  return step.replace(
    CALCULATION,
    (_, _left, before, _operator, after, _right, equals) =>
      `${left}${before}${operator}${after}${right}${equals}${result}`,
  );
}

/** The calculation with its own result; null where that is negative, or a fraction that the step did not have. */
function worked(calculation: Calculation): Calculation | null {
  const left = Number(calculation.left), right = Number(calculation.right);
  const results: Readonly<Record<Operator, number>> = {
    "+": left + right,
    "-": left - right,
    "*": left * right,
    "/": left / right,
  };
  const value = results[calculation.operator];
  const result = text(value, calculation.result);
  const isExact = Math.abs(Number(result) - value) < 1e-9;
  return Number.isFinite(value) && value >= 0 && isExact ? { ...calculation, result } : null;
}

/** A number with as many decimals as another text of one. */
function text(value: number, like: string): string {
  return value.toFixed(like.split(".")[1]?.length ?? 0);
}

function near(answer: string, uniform: Uniform): string | null {
  return /^\d+(\.\d+)?$/.test(answer) ? wrongNumber(answer, uniform) : null;
}
