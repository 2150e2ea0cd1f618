/**
 * Chains of one-digit sums, worked from left to right, every result modulo 10.
 *
 *   question  7+5-3
 *   solution  <think><step>7+5=2</step><step>2-3=9</step></think><answer>\boxed{9}</answer>
 */
import { chooseInteger, chooseItem, chooseStepCount } from "./choose.ts";
import { splitOf } from "./split.ts";
import { compareStepByStep, labelStepsByClaim, readOwnResult } from "./step_comparison.ts";
import type { CorruptedSolution, Problem, Task, Uniform } from "./task.ts";

type Operator = "+" | "-" | "*";
const OPERATORS: readonly Operator[] = ["+", "-", "*"];

/** A link of the chain: an operation on the running value. */
interface Operation {
  operator: Operator;
  operand: number;
}

/**
 * The first number and two operations decide a problem's part: no problem of one part begins as one of
 * another does, however long they are. The operations themselves, all 300 of them, occur in every part.
 */
const SPLIT_CHARACTERS = 5;

/** The arithmetic task; its difficulty is the number of operations. */
export const arithmeticTask: Task = {
  name: "arithmetic",
  defaultDifficulty: { minimumSteps: 2, maximumSteps: 4 },

  makeProblem(uniform, difficulty) {
    const count = chooseStepCount(uniform, difficulty);
    const first = chooseInteger(uniform, 0, 9);
    const operations = Array.from({ length: count }, () => ({
      operator: chooseItem(uniform, OPERATORS),
      operand: chooseInteger(uniform, 0, 9),
    }));
    const { steps, answer } = work(first, operations);
    const chain = operations.map(({ operator, operand }) => `${operator}${operand}`).join("");
    return { question: `${first}${chain}`, answer, goldSteps: steps };
  },

  splitOf: ({ question }) => splitOf(question.slice(0, SPLIT_CHARACTERS)),

  isCorrectAnswer: (problem, answer) => answer?.trim() === problem.answer,

  labelSteps: (problem, steps) => labelStepsByClaim(problem, steps, splitStep),

  corruptSolution,

  readOwnResult: (critiqueStep, step) => readOwnResult(critiqueStep, step, splitStep),

  writeCritique(problem, solution) {
    const verdict = arithmeticTask.isCorrectAnswer(problem, solution.answer);
    return compareStepByStep(problem, solution, verdict, splitStep);
  },
};

function splitStep(step: string): { work: string; claim: string } | null {
  const match = /^(\d[-+*]\d=)(\d)$/.exec(step);
  return match && { work: match[1], claim: match[2] };
}

function apply(value: number, { operator, operand }: Operation): number {
  const result = operator === "+"
    ? value + operand
    : operator === "-"
    ? value - operand
    : value * operand;
  return (result + 10) % 10;
}

/** Work through the operations; `slip` changes the result of the step at its position. */
function work(
  first: number,
  operations: readonly Operation[],
  slip?: { position: number; result: number },
): { steps: string[]; answer: string } {
  let value = first;
  const steps = operations.map((operation, position) => {
    const result = slip?.position === position ? slip.result : apply(value, operation);
    const step = `${value}${operation.operator}${operation.operand}=${result}`;
    value = result;
    return step;
  });
  return { steps, answer: String(value) };
}

function readQuestion(question: string): { first: number; operations: Operation[] } {
  const operations = [...question.matchAll(/([-+*])(\d)/g)].map((match) => ({
    operator: match[1] as Operator,
    operand: Number(match[2]),
  }));
  return { first: Number(question[0]), operations };
}

const MISTAKES = [
  "offByOne",
  "wrongOperator",
  "wrongOperand",
  "skippedStep",
  "repeatedStep",
  "answerMismatch",
] as const;

function corruptSolution(problem: Problem, uniform: Uniform): CorruptedSolution {
  const { first, operations } = readQuestion(problem.question);
  const position = chooseInteger(uniform, 0, operations.length - 1);
  const operation = operations[position];
  const before = Number(problem.goldSteps[position][0]);
  const right = apply(before, operation);
  const oneOff = (value: number) => (value + chooseItem(uniform, [1, 9])) % 10;
  const kind = chooseItem(uniform, MISTAKES);
  // Skipping the only step would leave no step to judge.
  if (kind === "answerMismatch" || (kind === "skippedStep" && operations.length === 1)) {
    const answer = String(oneOff(Number(problem.answer)));
    return { kind: "answerMismatch", steps: [...problem.goldSteps], answer };
  }
  switch (kind) {
    case "offByOne":
      return { kind, ...work(first, operations, { position, result: oneOff(right) }) };
    case "wrongOperator": {
      const results = OPERATORS.map((operator) => apply(before, { ...operation, operator }))
        .filter((result) => result !== right);
      // The operators may all agree, as for 0 and 0: then the result is one off.
      const result = results.length === 0 ? oneOff(right) : chooseItem(uniform, results);
      return { kind, ...work(first, operations, { position, result }) };
    }
    case "wrongOperand": {
      const miscopied = { ...operation, operand: oneOff(operation.operand) };
      return { kind, ...work(first, operations.with(position, miscopied)) };
    }
    case "skippedStep":
      return { kind, ...work(first, operations.toSpliced(position, 1)) };
    case "repeatedStep":
      return { kind, ...work(first, operations.toSpliced(position, 0, operation)) };
  }
}
