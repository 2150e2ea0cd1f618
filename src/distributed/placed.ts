import type { Communicator } from "./communicator.ts";
import { rankGroup } from "./rank_group.ts";

/** Something that some ranks of a run hold, each of them the same: a policy's weights, say. */
export interface Placed<Thing> {
  /** All ranks of the run. */
  readonly all: Communicator;
  /** Ranks that hold it, ascending; at least one. */
  readonly ranks: readonly number[];
  /** The thing, on a rank that holds it; else null. */
  readonly here: Thing | null;
}

/** A thing that every rank holds. */
export function onEveryRank<Thing>(all: Communicator, here: Thing): Placed<Thing> {
  return { all, ranks: Array.from({ length: all.size }, (_, rank) => rank), here };
}

/** The ranks that hold something as a communicator of their own; null on a rank that does not. */
export function holdersOf({ all, ranks }: Omit<Placed<unknown>, "here">): Communicator | null {
  if (!ranks.includes(all.rank)) return null;
  return ranks.length === all.size ? all : rankGroup(all, ranks);
}

/** Another thing on the same ranks, made of the one they hold. */
export function madeOf<Thing, Made>(
  { all, ranks, here }: Placed<Thing>,
  make: (thing: Thing) => Made,
): Placed<Made> {
  return { all, ranks, here: here === null ? null : make(here) };
}
