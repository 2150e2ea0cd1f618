import { Failure } from "../../base/failure.ts";
import { UserError } from "../../base/user_error.ts";
import { startedBy } from "../../distributed/mpi/started_by.ts";
import { type OpenCommunicator, openCommunicator } from "../../distributed/open_communicator.ts";
import { launchRanks } from "./launch_ranks.ts";
import { joined, stayWithLauncher } from "./launcher_line.ts";
import { Quiet } from "./quiet.ts";

/** Most errors are those of all ranks: rank 0 says them, and its end is the end of the others, given the time. */
const FIRST_RANK_SPEAKS_MS = 2000;

/**
 * Runs `body` as one of the ranks that `mpirun`, `srun` or `--ranks` started together, or alone; with --ranks and not yet
 * among them it starts them instead and waits. Only rank 0 prints and hears Ctrl-C; what ends another rank is said
 * with its number and host. No rank outlives what started it.
 *
 * @param ranks what --ranks says; undefined without it
 * @param check called before ranks are started, so that what cannot be is said once; throws it
 */
export async function onRanks(
  ranks: number | undefined,
  check: (ranks: number) => void | Promise<void>,
  body: (opened: OpenCommunicator) => Promise<void>,
): Promise<void> {
  const start = startedBy((name) => Deno.env.get(name));
  if (start === null) {
    if (ranks === undefined || ranks === 1) return await body(await openCommunicator());
    await check(ranks);
    Deno.exitCode = await launchRanks(ranks);
    return;
  }
  const { rank, size, launcher } = start;
  await stayWithLauncher(rank);
  using _quiet = rank > 0 ? new Quiet() : null;
  try {
    if (ranks !== undefined && ranks !== size) {
      if (rank > 0) return; // a launcher ends all as soon as one fails
      throw new UserError(
        `--ranks ${ranks} does not fit the ${size} ranks that ${launcher} started. Leave --ranks out: they are counted.`,
      );
    }
    const opened = await openCommunicator();
    await joined();
    await body(opened);
    await opened.close();
  } catch (error) {
    if (rank === 0) throw error;
    await new Promise((resolve) => setTimeout(resolve, FIRST_RANK_SPEAKS_MS));
    throw ofRank(rank, error);
  }
}

/** The error with the rank's name before it. */
function ofRank(rank: number, cause: unknown): Error {
  const name = `rank ${rank} on ${Deno.hostname()}`;
  const message = cause instanceof Error ? cause.message : `${cause}`;
  // A failure of the communicator names it already.
  const named = message.startsWith(name) ? message : `${name}: ${message}`;
  if (cause instanceof UserError) return new UserError(named, { cause });
  return cause instanceof Failure ? new Failure(named, { cause }) : new Error(named, { cause });
}
