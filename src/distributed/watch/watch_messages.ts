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

/** What a rank tells of itself when it joins. */
const helloSchema = z.object({
  type: z.literal("hello"),
  rank: z.int().min(0),
  token: z.string(),
});

/** From another rank's watch to rank 0's. What comes over the network is checked against it. */
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
  /** It is done. */
  z.object({ type: z.literal("bye") }),
]);

/** From another rank's watch to rank 0's. */
export type FollowerMessage = z.output<typeof followerMessageSchema>;

/** How a rank joins. */
export type Hello = z.output<typeof helloSchema>;

/** From rank 0's watch to another rank's. What comes over the network is checked against it. */
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
  /** The same, as soon as rank 0 has said why and ended. */
  z.object({ type: z.literal("endAfterMe"), code: z.int().min(0).max(255) }),
  /** All are done. */
  z.object({ type: z.literal("bye") }),
]);

/** From rank 0's watch to another rank's. */
export type LeaderMessage = z.output<typeof leaderMessageSchema>;

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
