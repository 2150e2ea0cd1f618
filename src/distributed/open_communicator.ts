import { UserError } from "../base/user_error.ts";
import { barrier } from "./collectives.ts";
import { alone, type Communicator } from "./communicator.ts";
import { LIBRARY_VARIABLE, openLibrary } from "./mpi/find_library.ts";
import { mpiCommunicator } from "./mpi/mpi_communicator.ts";
import { type Environment, type Start, startedBy } from "./mpi/started_by.ts";
import { WaitNotice } from "./mpi/wait_notice.ts";
import { gatherValues } from "./values.ts";

/** Where a rank runs. */
export interface RankPlace {
  readonly host: string;
  /** Number among the ranks of its host, from 0. */
  readonly localRank: number;
}

/** The communicator of a run's ranks, and where they run. */
export interface OpenCommunicator {
  readonly communicator: Communicator;
  /** Place of each rank. */
  readonly places: readonly RankPlace[];
  /** Name and version of the MPI library; null in a process that is alone. */
  readonly library: string | null;
  /** Sets how many seconds sending or receiving may take before it fails, for what begins from now on. */
  waitAtMost(seconds: number): void;
  /** Leaves the others when all are done: all ranks call it. Nothing may be on its way. */
  close(): Promise<void>;
  /** Ends all ranks at once, this one too. */
  abort(exitCode: number): void;
}

/** For which ranks wait for each other before a run and after it, when none has much to do. */
export const BETWEEN_RUNS_SECONDS = 120;

/** How a communicator is opened. */
export interface CommunicatorOptions {
  /** Seconds that sending or receiving may take, until `waitAtMost` says another number. */
  readonly timeLimitSeconds?: number;
  /** Seconds of waiting for ranks to join after which the first rank says so; after twice as many, the second one. */
  readonly noticeSeconds?: number;
  readonly environment?: Environment;
}

/**
 * Joins the ranks that `mpiexec`, `mpirun` or `srun` has started together, this process among them. A process that
 * was started in another way is alone, and needs no MPI. Call it once.
 *
 * @throws UserError when the MPI library of what started this process cannot be used
 */
export async function openCommunicator(
  {
    timeLimitSeconds = BETWEEN_RUNS_SECONDS,
    noticeSeconds = 10,
    environment = (name) => Deno.env.get(name),
  }: CommunicatorOptions = {},
): Promise<OpenCommunicator> {
  const start = startedBy(environment);
  if (start === null) {
    return {
      communicator: alone,
      places: [{ host: Deno.hostname(), localRank: 0 }],
      library: null,
      waitAtMost: () => {},
      close: () => Promise.resolve(),
      abort: (exitCode) => Deno.exit(exitCode),
    };
  }
  const library = openLibrary(start, environment);
  using _notice = await noticeFor(start, library.version, noticeSeconds);
  const found = library.init();
  if (found.size !== start.size) {
    throw new UserError(
      `${start.launcher} started this process as rank ${start.rank} of ${start.size}, but ${library.version} ` +
        `(${library.path}) sees ${found.size}: they do not belong together. Start with that library's own mpirun, ` +
        `name another in ${LIBRARY_VARIABLE}, or have srun speak its language (srun --mpi=list).`,
    );
  }
  const hosts: string[] = [];
  const nameRank = (rank: number) => `rank ${rank}` + (rank in hosts ? ` on ${hosts[rank]}` : "");
  let timeLimit = 1000 * timeLimitSeconds;
  const communicator = mpiCommunicator(library, found, nameRank, () => timeLimit);
  hosts.push(...await gatherValues(communicator, Deno.hostname()));
  return {
    communicator,
    places: placesOf(hosts),
    library: library.version,
    waitAtMost: (seconds) => timeLimit = 1000 * seconds,
    async close() {
      await barrier(communicator);
      library.finalize();
    },
    abort: (exitCode) => library.abort(exitCode),
  };
}

/** Two ranks say what they wait for, for one of them may be what does not come. */
async function noticeFor(
  { rank, size }: Start,
  library: string,
  seconds: number,
): Promise<WaitNotice | null> {
  if (rank > 1) return null;
  const waited = (1 + rank) * seconds;
  return await WaitNotice.begin(
    `Rank ${rank} of ${size} on ${Deno.hostname()} has waited ${waited} s for the others to join it through ` +
      `${library}, and waits on. One of them has not begun, or their hosts do not reach each other: see "When ranks ` +
      `do not come together" in docs/several-gpus.md.`,
    waited,
  );
}

function placesOf(hosts: readonly string[]): RankPlace[] {
  const onHost = new Map<string, number>();
  return hosts.map((host) => {
    const localRank = onHost.get(host) ?? 0;
    onHost.set(host, localRank + 1);
    return { host, localRank };
  });
}
