import type { Communicator } from "./communicator.ts";

/** A step of an exchange in which every process has something for every other: all take it together. */
export interface ExchangeStep {
  readonly to: number;
  readonly from: number;
}

/** Whom a process sends to and hears from, so that everyone is sent to by one at a time. */
export function exchangeSteps({ rank, size }: Communicator): ExchangeStep[] {
  return Array.from({ length: size - 1 }, (_, step) => ({
    to: (rank + step + 1) % size,
    from: (rank - step - 1 + size) % size,
  }));
}
