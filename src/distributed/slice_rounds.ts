import type { Slice } from "../model/decoder/slices.ts";
import type { Communicator } from "./communicator.ts";

/** One step of an exchange in which every process has something for every other: all take it together. */
export interface ExchangeStep {
  readonly to: number;
  readonly from: number;
}

/** The slices that each owner has in one round of an exchange; undefined for those that have no more. */
export type SliceRound = readonly (Slice | undefined)[];

/** The first slice of each owner, then the second of each, and so on. */
export function sliceRounds(slices: readonly Slice[], owners: number): SliceRound[] {
  const of = Array.from({ length: owners }, (_, owner) => slices.filter((s) => s.owner === owner));
  const rounds = Math.max(0, ...of.map(({ length }) => length));
  return Array.from({ length: rounds }, (_, round) => of.map((own) => own[round]));
}

/** Whom a process sends to and hears from, so that everyone is sent to by one at a time. */
export function exchangeSteps({ rank, size }: Communicator): ExchangeStep[] {
  return Array.from({ length: size - 1 }, (_, step) => ({
    to: (rank + step + 1) % size,
    from: (rank - step - 1 + size) % size,
  }));
}
