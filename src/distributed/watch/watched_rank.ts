import type { ProcessIdentity } from "../../platform/process/process_identity.ts";

/** A process of the run, as the others know it. */
export interface WatchedRank {
  readonly rank: number;
  readonly host: string;
  /** The rank's GPU in a few words. */
  readonly gpu: string;
  readonly process: ProcessIdentity;
}

/** How long the others are waited for. */
export interface WatchLimits {
  /** Seconds without a word from a rank after which it counts as gone. */
  readonly silenceSeconds: number;
  /** Seconds that a rank's main thread may be stuck, in its GPU's driver for instance. */
  readonly stallSeconds: number;
}
