import { z } from "zod";
import type { MeetingPoint } from "./meeting_point.ts";
import type { WatchedRank, WatchLimits } from "./watched_rank.ts";

/** Why a rank fails. */
export interface ToldFailure {
  readonly message: string;
  /** The process's exit code. */
  readonly code: number;
  /** The rank whose failure it is: when it is another one, that one is about to tell it. null: it is not known which. */
  readonly culprit: number | null;
}

/** A rank's first message, with which it joins. */
const helloSchema = z.object({
  type: z.literal("hello"),
  rank: z.int().min(0),
  token: z.string(),
});

/** Messages from another rank's watch to rank 0's, as checked when they arrive. */
export const followerMessageSchema = z.discriminatedUnion("type", [
  helloSchema,
  /** `doing` says what its main thread is at. */
  z.object({ type: z.literal("beat"), doing: z.string() }),
  z.object({
    type: z.literal("failed"),
    message: z.string(),
    code: z.int().min(0).max(255),
    culprit: z.int().min(0).nullable(),
  }),
  /** The rank is done. */
  z.object({ type: z.literal("bye") }),
]);

/** A message from another rank's watch to rank 0's. */
export type FollowerMessage = z.output<typeof followerMessageSchema>;

/** How a rank joins. */
export type Hello = z.output<typeof helloSchema>;

/** Messages from rank 0's watch to another rank's, as checked when they arrive. */
export const leaderMessageSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("welcome") }),
  z.object({ type: z.literal("beat") }),
  z.object({ type: z.literal("hint"), hint: z.string() }),
  /** Ends the process, and those of ranks that do not hear it. */
  z.object({
    type: z.literal("end"),
    code: z.int().min(0).max(255),
    silent: z.array(z.int().min(0)),
  }),
  /** Ends the process as soon as rank 0 has said why and ended. */
  z.object({ type: z.literal("endAfterMe"), code: z.int().min(0).max(255) }),
  /** All ranks are done. */
  z.object({ type: z.literal("bye") }),
]);

/** A message from rank 0's watch to another rank's. */
export type LeaderMessage = z.output<typeof leaderMessageSchema>;

/** A message from a main thread to its watch. */
export type MainMessage =
  | {
    readonly type: "open";
    readonly rank: number;
    readonly ranks: readonly WatchedRank[];
    readonly limits: WatchLimits;
    /** A counter that grows while the main thread gets on. */
    readonly progress: SharedArrayBuffer;
    /** Where rank 0 is; null on rank 0 itself. */
    readonly point: MeetingPoint | null;
  }
  | { readonly type: "doing"; readonly doing: string }
  | { readonly type: "hint"; readonly hint: string }
  | ({ readonly type: "failed" } & ToldFailure)
  | { readonly type: "close" };

/** A message from a watch to its main thread. */
export type WatchMessage =
  | { readonly type: "listening"; readonly point: MeetingPoint }
  | { readonly type: "joined"; readonly problem: string | null }
  /** Rank 0 failed before any other; its main thread now says why and ends. */
  | { readonly type: "speak" }
  | { readonly type: "closed" };
