/** A process of the run, as the others know it. */
export interface WatchedRank {
  readonly rank: number;
  readonly host: string;
  /** Its GPU in a few words. */
  readonly gpu: string;
  readonly process: ProcessIdentity;
}

/** What it takes to end a process and no other. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When it was started, in the kernel's own ticks: a number that another process had before is told apart. */
  readonly started: string;
  /** Only a process of the same place can end it. */
  readonly place: string;
}

/** How long the others are waited for. */
export interface WatchLimits {
  /** Seconds without a word from a rank after which it counts as gone. */
  readonly silenceSeconds: number;
  /** Seconds that a rank's main thread may be stuck, in its GPU's driver for instance. */
  readonly stallSeconds: number;
}
