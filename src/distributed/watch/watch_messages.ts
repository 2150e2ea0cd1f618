import type { MeetingPoint } from "./meeting_point.ts";
import type { WatchedRank, WatchLimits } from "./watched_rank.ts";

/** Why a rank fails. */
export interface ToldFailure {
  readonly message: string;
  /** The process's exit code. */
  readonly code: number;
  /** Whether another rank's failure is the likely cause, which that one is about to tell. */
  readonly isEcho: boolean;
}

/** From another rank's watch to rank 0's. */
export type FollowerMessage =
  | { readonly type: "hello"; readonly rank: number; readonly token: string }
  /** `doing` says what its main thread is at. */
  | { readonly type: "beat"; readonly doing: string }
  | ({ readonly type: "failed" } & ToldFailure)
  | { readonly type: "bye" };

/** From rank 0's watch to another rank's. */
export type LeaderMessage =
  | { readonly type: "welcome" }
  | { readonly type: "beat" }
  | { readonly type: "hint"; readonly hint: string }
  /** Ends the process, and those of ranks that do not hear it. */
  | { readonly type: "end"; readonly code: number; readonly silent: readonly number[] }
  /** The same, as soon as rank 0 has said why and ended. */
  | { readonly type: "endAfterMe"; readonly code: number }
  | { readonly type: "bye" };

/** From a main thread to its watch. */
export type MainMessage =
  | {
    readonly type: "open";
    readonly rank: number;
    readonly ranks: readonly WatchedRank[];
    readonly limits: WatchLimits;
    /** One counter, which grows while the main thread gets on. */
    readonly progress: SharedArrayBuffer;
    /** Where rank 0 is; null on rank 0 itself. */
    readonly point: MeetingPoint | null;
  }
  | { readonly type: "doing"; readonly doing: string }
  | { readonly type: "hint"; readonly hint: string }
  | ({ readonly type: "failed" } & ToldFailure)
  | { readonly type: "close" };

/** From a watch to its main thread. */
export type WatchMessage =
  | { readonly type: "listening"; readonly point: MeetingPoint }
  | { readonly type: "joined"; readonly problem: string | null }
  /** Nobody failed before this rank 0, which now says why itself and ends. */
  | { readonly type: "speak" }
  | { readonly type: "closed" };
