import type { ProcessIdentity } from "../../platform/process/process_identity.ts";
import type { FailureReason } from "../../base/failure_reason.ts";
import type { RunKind } from "../../run/store/run_folder.ts";

/** What a run takes, and of what. */
export interface RunPlan {
  /** GPU memory that each rank takes at most. */
  readonly bytes: number;
  /** What its GPU has; null where nothing tells. */
  readonly limitBytes: number | null;
  /** Numbers of the GPUs that it can be given; empty where the engine has to choose. */
  readonly gpus: readonly number[];
}

/** A process that the server was asked to start. It outlives the server, which finds it again by this. */
export interface RunLaunch {
  readonly kind: RunKind;
  /** The command and its options, as a person would type them after `./tango`. */
  readonly args: readonly string[];
  readonly ranks: number;
  /** The GPU that was asked for; null: any with room. */
  readonly gpuIndex: number | null;
  readonly state: "waiting" | "running" | "ended";
  /** Null before it was started. */
  readonly process: ProcessIdentity | null;
  /** Null before it is known. */
  readonly plan: RunPlan | null;
  /** The GPU of each rank; empty where the engine chose, and before it was started. */
  readonly gpus: readonly number[];
  /** ISO 8601. */
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  /** Null while it goes on, and where nobody saw it end; 128 and a signal's number where that has ended it. */
  readonly exitCode: number | null;
  /** What it printed last on standard error, without how far it was; null when that is nothing. */
  readonly lastWords: string | null;
  /** Why it failed, where it said so; left out by earlier versions. */
  readonly reason?: FailureReason | null;
  readonly isStopAsked: boolean;
  readonly isKilled: boolean;
}
