/** Spans of a rank's timeline: plain data, so that it can be sent to the rank that writes it. */

/** The rows that each rank has. Spans of one row lie side by side or within one another. */
export const TRACKS = ["run", "waiting", "kernels"] as const;
export type Track = typeof TRACKS[number];

/** Something that took a while. */
export interface Span {
  readonly track: Track;
  readonly name: string;
  /** Milliseconds of this rank's clock, see `now`. */
  readonly begin: number;
  readonly end: number;
  /** The step that it is a phase of; absent where it is none. */
  readonly phaseOf?: number;
  /** Shown when one looks at it. */
  readonly facts?: Readonly<Record<string, number | string>>;
}

/** Something that happened at a moment; it has no `end`. */
export type Moment = Omit<Span, "end">;

/** A clock that never goes back, in milliseconds since 1970: about the same on all ranks of a machine. */
export function now(): number {
  return performance.timeOrigin + performance.now();
}
