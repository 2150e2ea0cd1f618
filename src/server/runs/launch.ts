import type { ProcessIdentity } from "../../base/process_identity.ts";
import type { RunKind } from "../../run/store/run_folder.ts";

/** A process that the server was asked to start. It outlives the server, which finds it again by this. */
export interface Launch {
  readonly kind: RunKind;
  /** The command and its options, as a person would type them after `./tango`. */
  readonly args: readonly string[];
  readonly ranks: number;
  readonly state: "waiting" | "running" | "ended";
  /** Null before it was started. */
  readonly process: ProcessIdentity | null;
  /** GPU memory that it takes at most; null before that is known. */
  readonly plannedBytes: number | null;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  /** Null while it goes on, and where nobody saw it end. */
  readonly exitCode: number | null;
  /** What it printed last on standard error. */
  readonly lastWords: string | null;
  readonly isStopAsked: boolean;
  readonly isKilled: boolean;
}
