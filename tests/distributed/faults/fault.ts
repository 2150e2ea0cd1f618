import type { RankedRun } from "./ranked_run.ts";

/**
 * For which a rank may be silent here. Beside other work the watch's thread, too, has to wait for its turn: after 5 s
 * one that was about to be killed counted as silent, once in fifty runs of all tests.
 */
export const SILENCE_SECONDS = 15;

/** Something that happens to a run over ranks. */
export interface Fault {
  readonly name: string;
  /** Ranks to which it can happen, of so many. */
  ranks(size: number): readonly number[];
  strike(run: RankedRun, rank: number): void;
  /** What is said of it; MPICH's launcher may end a rank that would have said it of a process that was killed. */
  message(rank: number): RegExp;
}

const all = (size: number) => Array.from({ length: size }, (_, rank) => rank);
const signal = (signal: Deno.Signal): Fault["strike"] => (run, rank) => run.signal(rank, signal);

/** The one message: which rank, its host and GPU, why, and how to go on. */
const saidOf = (rank: number, why: string) =>
  new RegExp(
    `^The run has ended on all ranks because of rank ${rank} on ${Deno.hostname()} \\(GPU 0: .*\\)\\.\n` +
      `${why}.*\n.*Continue with: `,
    "m",
  );

/** What can be done to processes; a network's is in `two_hosts.ts`. */
export const faults: readonly Fault[] = [
  {
    name: "killed",
    ranks: all,
    strike: signal("SIGKILL"),
    message: (rank) => saidOf(rank, "Its process ended without a word"),
  },
  {
    name: "stopped",
    ranks: all,
    strike: signal("SIGSTOP"),
    message: (rank) => saidOf(rank, `Not a word for ${SILENCE_SECONDS} s`),
  },
  {
    name: "GPU lost",
    ranks: all,
    strike: signal("SIGUSR2"),
    // Rank 0 says of itself what it would say alone.
    message: (rank) =>
      rank > 0 ? saidOf(rank, "The GPU was lost") : /^The GPU was lost.*\n.*Continue with: /m,
  },
  {
    name: "disk full",
    ranks: () => [0], // nobody else writes
    strike: signal("SIGUSR1"),
    message: () => /^(?!The run has ended).*the disk is full/m,
  },
];
