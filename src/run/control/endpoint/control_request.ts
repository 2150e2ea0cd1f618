/** Requests to a run at its socket, and its answers: each a line of JSON. */

import { z } from "zod";
import type { RunPhase } from "../../events/run_event.ts";

const plain = <const Name extends string>(request: Name) =>
  z.strictObject({ request: z.literal(request) });

/** A request, as checked when it arrives. */
export const controlRequestSchema = z.discriminatedUnion("request", [
  plain("status"),
  plain("pause"),
  plain("goOn"),
  plain("checkpoint"),
  plain("stop"),
  z.strictObject({
    request: z.literal("change"),
    /** Values by configuration key, such as `rollout.temperature`. */
    settings: z.record(z.string(), z.union([z.string(), z.number()])),
  }),
]);

/** A request: `pause`, `goOn`, `checkpoint` and `stop` act between two steps, `change` from the next step on. */
export type ControlRequest = z.infer<typeof controlRequestSchema>;

/** How far a run is, and what it was asked. */
export interface RunStatus {
  /** Steps done. */
  readonly step: number;
  /** Steps in all; null before the run has begun. */
  readonly total: number | null;
  /** The phase that the run is in; null between phases. */
  readonly phase: RunPhase | null;
  readonly isPauseRequested: boolean;
  readonly isStopRequested: boolean;
  /** Memory of the first rank's GPU. */
  readonly memory: RunMemory;
}

/** GPU memory in bytes. */
export interface RunMemory {
  /** At most, by the plan; null before there is one. */
  readonly planned: number | null;
  /** Held at present: what a step no longer uses is kept for the next one. */
  readonly live: number;
  /** The most that was in use at once. */
  readonly peak: number;
}

/** The answer to one request. What is accepted is done at the next occasion, and told as an event then. */
export type ControlAnswer =
  | { readonly ok: true; readonly status: RunStatus }
  | { readonly ok: false; readonly message: string };
