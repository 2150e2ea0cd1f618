import { UserError } from "../../base/user_error.ts";
import { RequestProblem } from "../http/problem.ts";
import { runApart } from "../launches/own_process.ts";
import { Turns } from "../launches/turns.ts";
import type { RunDifferenceView } from "./difference_schema.ts";

/** Logs and checkpoints that take longer, or more memory, are not set beside each other here. */
const MOST_SECONDS = 120;
const MOST_MEGABYTES = 2048;

/** More are refused: each reads whole logs, and may read checkpoints. */
const MOST_AT_ONCE = 4;

const turns = new Turns();
let going = 0;

/**
 * Sets two runs beside each other in a process of its own, one pair after the other.
 *
 * @param folders of the runs
 * @param signal ends it: nobody waits any more
 * @throws UserError when a file is damaged, or it takes too much; RequestProblem when too many are asked for, or it fails
 */
export async function findDifference(
  folders: readonly [a: string, b: string],
  signal: AbortSignal,
): Promise<RunDifferenceView> {
  if (going >= MOST_AT_ONCE) {
    throw new RequestProblem(
      429,
      "Other runs are being set beside each other; try again in a while.",
    );
  }
  going++;
  try {
    return await turns.take(() => find(folders, signal), { signal });
  } catch (error) {
    if (signal.aborted) throw new RequestProblem(408, "Nobody waits for it any more.");
    throw error;
  } finally {
    going--;
  }
}

async function find(
  folders: readonly [a: string, b: string],
  signal: AbortSignal,
): Promise<RunDifferenceView> {
  const program = new URL("./difference_process.ts", import.meta.url).href;
  const { code, printed, said, isTooMuch } = await runApart(program, folders, {
    ...{ seconds: MOST_SECONDS, megabytes: MOST_MEGABYTES, signal },
  });
  if (code === 0) return JSON.parse(printed);
  if (code === 2) throw new UserError(said);
  if (isTooMuch) {
    throw new UserError(
      `To set these runs beside each other takes more than ${MOST_SECONDS} s or ${MOST_MEGABYTES} MB, as much as the ` +
        `server takes for it. Run ./tango diff ${folders.join(" ")} in a terminal.`,
    );
  }
  const reason = said.split("\n")[0];
  throw new RequestProblem(503, `The runs could not be set beside each other: ${reason}`);
}
