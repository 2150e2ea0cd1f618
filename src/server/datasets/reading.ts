/** How the process that reads data is asked, and what it says. */

import type { AskedReading, RecordCheck } from "../../data/files/check_records.ts";
import type { Preview } from "../../data/files/preview_rows.ts";
import { Failure } from "../../base/failure.ts";
import { UserError } from "../../base/user_error.ts";
import { RequestProblem } from "../http/problem.ts";
import { runApart } from "../launches/own_process.ts";
import { Turns } from "../launches/turns.ts";

/** What is asked of a file or folder. */
export type ReadRequest = PreviewRequest | CheckRequest;
interface PreviewRequest {
  readonly what: "preview";
  readonly path: string;
  /** How many rows. */
  readonly shown: number;
}
interface CheckRequest {
  readonly what: "check";
  readonly path: string;
  readonly asked: AskedReading;
}

/** A file that takes longer, or more memory, is not looked at. */
const MOST_SECONDS = 60;
const MOST_MEGABYTES = 2048;

const turns = new Turns();

/**
 * Reads data in a process of its own, one after the other: a large or hostile file costs no more than that.
 *
 * @param signal ends it: nobody waits any more
 * @throws UserError when it cannot be read
 */
export function readData<Request extends ReadRequest>(
  request: Request,
  signal: AbortSignal,
): Promise<Request extends PreviewRequest ? Preview : RecordCheck> {
  return turns.take(() => read(request, signal), { signal });
}

// deno-lint-ignore no-explicit-any -- what the other process says is what its request asks for
async function read(request: ReadRequest, signal: AbortSignal): Promise<any> {
  const program = new URL("./read_process.ts", import.meta.url).href;
  const { code, printed, said, isTooMuch } = await runApart(program, [JSON.stringify(request)], {
    ...{ seconds: MOST_SECONDS, megabytes: MOST_MEGABYTES, signal },
  });
  if (code === 0) return JSON.parse(printed);
  if (code === 2) throw new UserError(said);
  if (isTooMuch) {
    throw new UserError(
      `${request.path}: it takes more than ${MOST_SECONDS} s or ${MOST_MEGABYTES} MB to be read. Cut it into ` +
        "several files of JSON Lines or Parquet.",
    );
  }
  if (signal.aborted) throw new RequestProblem(408, "Nobody waits for it any more.");
  throw new Failure(`${request.path} could not be read: ${said.split("\n")[0]}`);
}
