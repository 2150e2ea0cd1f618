/**
 * Last-letter concatenation, the task of the RL Tango paper's small study (section 4.3): given words,
 * write their last letters. Words are random letters, so nothing can be known by heart.
 *
 *   question  cat dog
 *   solution  <think><step>cat:t</step><step>dog:g</step></think><answer>\boxed{tg}</answer>
 */
import { chooseInteger, chooseItem, chooseStepCount } from "./choose.ts";
import { compareStepByStep, labelStepsByClaim, readOwnResult } from "./step_comparison.ts";
import type { CorruptedSolution, Difficulty, Problem, Task, Uniform } from "./task.ts";

const ALPHABET = "abcdefghijklmnopqrstuvwxyz";

/** The last-letter task; its difficulty is the number of words and of their letters. */
export const lastLetterTask: Task = {
  name: "last-letter",
  defaultDifficulty: { minimumSteps: 2, maximumSteps: 4, minimumLetters: 3, maximumLetters: 6 },

  makeProblem(uniform, difficulty) {
    const count = chooseStepCount(uniform, difficulty);
    const words = Array.from({ length: count }, () => makeWord(uniform, difficulty));
    return {
      question: words.join(" "),
      answer: words.map(lastLetter).join(""),
      goldSteps: words.map((word) => stepFor(word)),
    };
  },

  isCorrectAnswer: (problem, answer) => answer?.trim() === problem.answer,

  labelSteps: (problem, steps) => labelStepsByClaim(problem, steps, splitStep),

  corruptSolution,

  readOwnResult: (critiqueStep, step) => readOwnResult(critiqueStep, step, splitStep),

  writeCritique(problem, solution) {
    const verdict = lastLetterTask.isCorrectAnswer(problem, solution.answer);
    return compareStepByStep(problem, solution, verdict, splitStep);
  },
};

function makeWord(
  uniform: Uniform,
  { minimumLetters = 3, maximumLetters = 6 }: Difficulty,
): string {
  const length = chooseInteger(uniform, minimumLetters, maximumLetters);
  return Array.from({ length }, () => chooseItem(uniform, [...ALPHABET])).join("");
}

function lastLetter(word: string): string {
  return word.slice(-1);
}

function stepFor(word: string, letter = lastLetter(word)): string {
  return `${word}:${letter}`;
}

function splitStep(step: string): { work: string; claim: string } | null {
  const match = /^([a-z]+:)([a-z])$/.exec(step);
  return match && { work: match[1], claim: match[2] };
}

/** A mistake at one word: the steps that stand in the place of its right one, or null if impossible. */
type Mistake = (word: string, uniform: Uniform) => string[] | null;

/** The word with another letter picked from `letters`, if any of them is wrong. */
function wrongPick(word: string, letters: string, uniform: Uniform): string[] | null {
  const wrong = [...letters].filter((letter) => letter !== lastLetter(word));
  return wrong.length === 0 ? null : [stepFor(word, chooseItem(uniform, wrong))];
}

function neighbours(letter: string): string {
  const position = ALPHABET.indexOf(letter);
  return ALPHABET.slice(Math.max(0, position - 1), position + 2);
}

/** The word miscopied: one letter replaced, left out, or swapped with the next. */
function misspell(word: string, uniform: Uniform): string {
  const position = chooseInteger(uniform, 0, word.length - 1);
  const before = word.slice(0, position), after = word.slice(position + 1);
  const miscopies = [
    before + chooseItem(uniform, [...ALPHABET]) + after,
    before + after,
    before + after.slice(0, 1) + word[position] + after.slice(1),
  ].filter((miscopy) => miscopy !== word);
  return chooseItem(uniform, miscopies);
}

/** The word with its end miscopied: another last letter, or the last two swapped where they differ. */
function miscopyEnd(word: string, uniform: Uniform): string {
  const [beforeLast, last] = word.slice(-2);
  if (uniform() < 0.5 && beforeLast !== last) return word.slice(0, -2) + last + beforeLast;
  return word.slice(0, -1) + chooseItem(uniform, [...ALPHABET].filter((letter) => letter !== last));
}

/**
 * Miscopied words come as often as wrong picks: a verifier that never met them would read the words in the
 * solution instead of the question.
 */
const MISTAKES: Record<string, Mistake> = {
  wrongLetter: (word, uniform) =>
    wrongPick(word, chooseItem(uniform, [word, neighbours(lastLetter(word)), ALPHABET]), uniform),
  lostEnd: (word) => [stepFor(word.slice(0, -1))],
  miscopiedEnd: (word, uniform) => [stepFor(miscopyEnd(word, uniform))],
  misspeltWord: (word, uniform) => [stepFor(misspell(word, uniform))],
  skippedStep: () => [],
  repeatedStep: (word) => [stepFor(word), stepFor(word)],
};

/** Kinds that leave the number of steps as it is, so that several words may have one. */
const IN_PLACE = ["wrongLetter", "lostEnd", "miscopiedEnd", "misspeltWord"];

/** An answer that does not follow from the right steps: a letter changed, lost, or two swapped. */
function wrongAnswer(answer: string, uniform: Uniform): string {
  const position = chooseInteger(uniform, 0, answer.length - 1);
  const before = answer.slice(0, position), after = answer.slice(position + 1);
  const candidates = [
    before + chooseItem(uniform, [...neighbours(answer[position])]) + after,
    before + after.slice(0, 1) + answer[position] + after.slice(1),
    ...(answer.length > 1 ? [before + after] : []),
  ].filter((candidate) => candidate !== answer);
  const other = ALPHABET[(ALPHABET.indexOf(answer[position]) + 1) % ALPHABET.length];
  return candidates.length === 0 ? before + other + after : chooseItem(uniform, candidates);
}

/** How likely each further word is mistaken too, once one is: mistakes seldom come alone. */
const FURTHER_MISTAKE = 0.35;

function corruptSolution(problem: Problem, uniform: Uniform): CorruptedSolution {
  const { goldSteps, answer } = problem;
  const kind = chooseItem(uniform, [...Object.keys(MISTAKES), "answerMismatch"]);
  const position = chooseInteger(uniform, 0, goldSteps.length - 1);
  const words = goldSteps.map((step) => step.split(":")[0]);
  const replacement = kind === "answerMismatch" ? null : MISTAKES[kind](words[position], uniform);
  // Skipping the only step would leave no step to judge.
  if (replacement === null || (replacement.length === 0 && goldSteps.length === 1)) {
    return {
      kind: "answerMismatch",
      steps: [...goldSteps],
      answer: wrongAnswer(answer, uniform),
    };
  }
  const further = (word: string): string[] => {
    const mistaken = uniform() < FURTHER_MISTAKE;
    const other = chooseItem(uniform, IN_PLACE);
    return mistaken ? MISTAKES[other](word, uniform) ?? [stepFor(word)] : [stepFor(word)];
  };
  const steps = words.flatMap((word, index) => index === position ? replacement : further(word));
  return { kind, steps, answer: steps.map(lastLetter).join("") };
}
