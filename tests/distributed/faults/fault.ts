import type { RankedRun } from "./ranked_run.ts";

/** For which a rank may be silent here. Beside other work the watch's thread, too, has to wait for its turn. */
export const SILENCE_SECONDS = 5;

/** Something that happens to a run over ranks. */
export interface Fault {
  readonly name: string;
  /** Ranks to which it can happen, of so many. */
  ranks(size: number): readonly number[];
  strike(run: RankedRun, rank: number): void;
  /** What is said of it; MPICH's launcher may end a rank that would have said it. */
  readonly message: RegExp;
}

const all = (size: number) => Array.from({ length: size }, (_, rank) => rank);
const signal = (signal: Deno.Signal): Fault["strike"] => (run, rank) => run.signal(rank, signal);

/** What can be done to processes; a network's is in `two_hosts.ts`. */
export const faults: readonly Fault[] = [
  {
    name: "killed",
    ranks: all,
    strike: signal("SIGKILL"),
    message:
      /The run has ended on all ranks because of rank . on .*\nIts process ended without a word/,
  },
  {
    name: "stopped",
    ranks: all,
    strike: signal("SIGSTOP"),
    message: /The run has ended on all ranks because of rank . on .*\nNot a word for 5 s/,
  },
  {
    name: "GPU lost",
    ranks: all,
    strike: signal("SIGUSR2"),
    message: /The GPU was lost/,
  },
  {
    name: "disk full",
    ranks: () => [0], // nobody else writes
    strike: signal("SIGUSR1"),
    message: /the disk is full/,
  },
];
