import type { CritiqueParts } from "./solution_text.ts";
import type { Split } from "./split.ts";

/** Random numbers in [0, 1), passed in so that the caller decides the stream. */
export type Uniform = () => number;

/** One problem with everything needed to judge an answer to it. */
export interface Problem {
  question: string;
  /** The reference answer. */
  answer: string;
  /** The steps of the one correct solution, in order. */
  goldSteps: string[];
}

/** How hard the problems of a batch are: uniformly from minimum to maximum, both included. */
export interface Difficulty {
  minimumSteps: number;
  maximumSteps: number;
  /** Letters of a word, likewise; only for tasks made of words, which have a range of their own. */
  minimumLetters?: number;
  maximumLetters?: number;
  /** Whether sentences stand in any order; only for tasks whose questions are of several. By default they do not. */
  shuffled?: boolean;
  /** Sentences that the answer does not need; only for such tasks. 0 by default. */
  distractors?: number;
}

/** A solution by its parts: step texts and the boxed answer (null when it has none). */
export interface SolutionParts {
  steps: readonly string[];
  answer: string | null;
}

/** A wrong solution made from a correct one. */
export interface CorruptedSolution extends SolutionParts {
  /** Which mistake was made, for counting. */
  kind: string;
  answer: string;
}

/** A source of problems whose solutions can be judged step by step without a model. */
export interface Task {
  readonly name: string;
  /** The difficulty to train at unless configured otherwise. */
  readonly defaultDifficulty: Difficulty;
  /** Texts that are one token each in the vocabulary of models that begin with this task; the others are characters. */
  readonly words?: readonly string[];
  /** A random problem. Throws an Error when the difficulty is not an integer range from 1 up. */
  makeProblem(uniform: Uniform, difficulty: Difficulty): Problem;
  /**
   * The part that a problem belongs to whoever drew it. A task whose problems are so many that two draws
   * hardly ever meet has no such rule.
   */
  splitOf?(problem: Problem): Split;
  /** Whether an answer taken from a solution equals the problem's. */
  isCorrectAnswer(problem: Problem, answer: string | null): boolean;
  /** True label of every step of any solution; for measuring, and for training by oracle judgments alone. */
  labelSteps(problem: Problem, steps: readonly string[]): boolean[];
  /** The correct solution with one realistic mistake, carried through to the answer. */
  corruptSolution(problem: Problem, uniform: Uniform): CorruptedSolution;
  /**
   * The result that a critique in the form of `writeCritique` works out for a step, and what the step claims; null
   * where it works out none. A task whose critiques hold no work has no such rule.
   */
  readOwnResult?(critiqueStep: string, step: string): { own: string; claim: string } | null;
  /** The critique a perfect verifier would write about any solution. */
  writeCritique(problem: Problem, solution: SolutionParts): CritiqueParts;
}
