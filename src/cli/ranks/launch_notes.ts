/** What `--ranks` tells the ranks that it starts, in a variable of their environment, and what they tell it. */

import type { WatchedRank } from "../../distributed/watch/watched_rank.ts";

/** A terminal's size; output reaches it through pipes. */
export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** Told to each rank. */
export interface LaunchNotes {
  /** Unix socket of the process that `--ranks` was said to. */
  readonly socket: string;
  /** Its terminal; null when standard error is none. */
  readonly terminal: TerminalSize | null;
}

/** What is known of a rank that is watched, for the case that it can say no more itself. */
export interface WatchedWord {
  readonly type: "watched";
  readonly who: WatchedRank;
  /** What it is at. */
  readonly doing: string;
  /** How to go on with the run. */
  readonly hint: string;
}

/**
 * Told by each rank, as lines of JSON: first who it is, that it has joined the others, that it has begun what they do
 * together, in which they see to each other, and at its own end how it ended.
 */
export type RankWord =
  | { readonly type: "here"; readonly rank: number; readonly pid: number }
  | { readonly type: "joined" }
  | { readonly type: "begun" }
  | WatchedWord
  | { readonly type: "end"; readonly code: number };

const VARIABLE = "TANGO_LAUNCH";

/** What this process was told; null when it was not started by `--ranks`. */
export function launchNotes(): LaunchNotes | null {
  const text = Deno.env.get(VARIABLE);
  return text === undefined ? null : JSON.parse(text) as LaunchNotes;
}

/** The notes as environment. */
export function noted(notes: LaunchNotes): Record<string, string> {
  return { [VARIABLE]: JSON.stringify(notes) };
}
