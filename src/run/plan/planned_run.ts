import type { TangoConfig } from "../config/config_schema.ts";
import type { PolicyWork } from "./rehearsed_work.ts";
import type { ResponseLengths } from "./response_lengths.ts";

/** Tokens of prompts and responses. */
export interface RunLengths {
  /** Tokens of the generator's prompt. */
  readonly problem: number;
  /** Tokens of the verifier's prompt, but for the solution. */
  readonly judgment: number;
  readonly solution: ResponseLengths;
  readonly critique: ResponseLengths;
  /** Mean number of steps in a solution. */
  readonly steps: number;
}

/** All that a run's cost depends on beside the GPUs. */
export interface PlannedRun {
  readonly config: TangoConfig;
  readonly generator: PolicyWork;
  /** Null for a run without one. */
  readonly verifier: PolicyWork | null;
  readonly lengths: RunLengths;
  /** Held-out problems that an evaluation measures. */
  readonly heldOut: number;
}

/** How many ranks hold which policy. */
export type PlannedPlacement =
  | { readonly kind: "colocated"; readonly ranks: number }
  | { readonly kind: "split"; readonly generator: number; readonly verifier: number };
