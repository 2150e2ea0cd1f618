import type { Split } from "../../data/split.ts";
import type { ProblemSource } from "../../rl/responses.ts";

/** Where the problems of a run come from; training draws them step by step. */
export interface Problems<Problem = unknown> extends Disposable {
  /** The problems as the RL loop sees them. */
  readonly source: ProblemSource<Problem>;
  /** How many records of the files were gone through; part of the checkpoint. 0 for an embedded task. */
  position: number;
  /** Whole passes through the files so far; null for an embedded task, which never ends. */
  readonly epochs: number | null;
  /** Report on the files' rows: how many were taken or left out, and why; null for an embedded task. */
  readonly report: string | null;
  /** Problems of the test part whose prompts are too long for the models. */
  readonly passedOver: number;
  /** Answers that were counted as wrong because comparing them took too long, since this was opened. */
  readonly timeouts: number;
  /**
   * The problems of a training step.
   *
   * @param batch counts the batches of problems of a step, from 0
   */
  draw(step: number, count: number, batch?: number): Problem[];
  /** Problems that training never draws, the same ones every time. */
  heldOut(part: HeldOutPart): readonly Problem[];
  /** Some questions, those that are held out too, to know how long prompts get. */
  questions(count: number): string[];
}

/** Whether a question's prompt has at most so many tokens, and the longest responses still have room. */
export type PromptFit = (question: string, maximumTokens: number) => boolean;

/** The part by which weights are chosen, or the one that is reported. */
export type HeldOutPart = Exclude<Split, "train">;

/** The choice of held-out problems to measure. */
export interface HeldOutChoice {
  /** Problems of each part; fewer where there are no more, null: all. */
  readonly problems: number | null;
  /** Decides which. */
  readonly seed: number;
}

/** Requirements of a run on its problems. */
export interface Requires {
  /** A reference answer. */
  readonly answers: boolean;
  /** Whether there must be problems to choose weights by. */
  readonly validation: boolean;
}
