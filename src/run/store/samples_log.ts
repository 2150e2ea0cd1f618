/** `samples.jsonl`: solutions and critiques as they were written, enough to see reward hacking. */

import { JsonLinesLog } from "./json_lines_log.ts";
import type { SampleTokens } from "./sample_tokens.ts";

/** One verifier response on a solution. */
export interface CritiqueSample {
  /** Updates that the verifier had had when it wrote this. */
  readonly version: number;
  readonly text: string;
  /** Judgments of the steps as parsed: true for CORRECT. */
  readonly stepJudgments: readonly boolean[];
  /** The final judgment; null when it could not be parsed. */
  readonly verdict: boolean | null;
  /** Verifier reward of the response; absent in a generator step. */
  readonly reward?: number;
  /** Advantage after class reweighting; absent in a generator step. */
  readonly advantage?: number;
  /** The text's tokens; absent in a generator step, which does not train them. */
  readonly tokens?: SampleTokens;
}

/** One solution with the critiques it received. */
export interface Sample {
  readonly step: number;
  readonly phase: "generator" | "verifier" | "evaluation";
  /** Updates that the generator had had when it wrote this; null when another hand did. */
  readonly version: number | null;
  readonly problem: string;
  readonly referenceAnswer: string;
  readonly solution: string;
  /** Text of each parsed step. */
  readonly steps: readonly string[];
  /** The extracted answer; null when there is none. */
  readonly answer: string | null;
  readonly correct: boolean;
  readonly critiques: readonly CritiqueSample[];
  /**
   * The solution's rewards by name: ground_truth, format, outcome, a reward model's score…; absent in a verifier step of
   * one that writes.
   */
  readonly rewards?: Readonly<Record<string, number>>;
  /** The reward of each step; empty when the number of judgments did not match. */
  readonly stepRewards?: readonly number[];
  /** The outcome advantage, the same for every token. */
  readonly outcomeAdvantage?: number;
  /** The combined advantage at the last token of each step. */
  readonly stepAdvantages?: readonly number[];
  /** The solution's tokens; absent outside a generator step, which alone trains them. */
  readonly tokens?: SampleTokens;
}

/** The log of samples.jsonl. */
export class SamplesLog extends JsonLinesLog<Sample> {}
