import type { JudgedSolution } from "../../../run/tango/judge_solution.ts";

/** What a person said and what came of it. */
export interface Turn {
  readonly id: number;
  readonly said: string;
  readonly model: string;
  readonly reply: string;
  /** Whether a verifier is asked about the reply, and what it writes and judges. */
  readonly isJudged: boolean;
  readonly critique: string;
  readonly judged: JudgedSolution | null;
  /** Whether the reply goes on with the text, as of a model without a template. */
  readonly isContinued: boolean;
  /** Why it has ended, such as "stop", "length" or "left", with the page; null while it goes on. */
  readonly end: string | null;
  readonly error: Error | null;
}
