/** `control.json`: which process a run is, and where it is asked; there as long as the process goes on. */

import { z } from "zod";
import { exists, removeIfPresent } from "../../../platform/files/atomic_file.ts";
import { describeDiskError } from "../../../platform/files/disk.ts";
import {
  isAlive,
  ownProcess,
  type ProcessIdentity,
} from "../../../platform/process/process_identity.ts";
import { UserError } from "../../../base/user_error.ts";
import { CONTINUE, type RunFolder } from "../../store/run_folder.ts";

/** A Unix socket's path is no longer, in bytes: the system's structure for it ends there. */
export const LONGEST_SOCKET = Deno.build.os === "linux" ? 107 : 103;

const canBeSocket = (path: string) => {
  const { length } = new TextEncoder().encode(path);
  return length > 0 && length <= LONGEST_SOCKET && !path.includes("\0");
};

const controlSchema = z.object({
  process: z.object({ pid: z.int().positive(), started: z.string(), place: z.string() }),
  /** Path of a Unix socket; see `control_request.ts` for what is said there. Null on Windows, where Deno has none. */
  socket: z.string().refine(canBeSocket).nullable(),
});

/** A process that runs what is in a folder. Of several ranks it is the first. */
export interface RunProcess {
  readonly process: ProcessIdentity;
  /** Socket at which the process is asked; null where it cannot be. */
  readonly socket: string | null;
}

/**
 * Says that this process runs what is in the folder.
 *
 * @throws UserError when the disk does not take it
 */
export function writeControlFile(folder: RunFolder, socket: string | null): void {
  const beside = `${folder.control}.tmp`;
  const content: RunProcess = { process: ownProcess(), socket };
  removeIfPresent(beside);
  try {
    Deno.writeTextFileSync(beside, `${JSON.stringify(content)}\n`, { mode: 0o600 });
    Deno.renameSync(beside, folder.control);
  } catch (error) {
    removeIfPresent(beside);
    throw describeDiskError(error, { path: folder.control, next: CONTINUE });
  }
}

/** The process of the control file; null when there is none. A killed one leaves it behind: see `liveProcess`. */
export function readControlFile(folder: RunFolder): RunProcess | null {
  if (!exists(folder.control)) return null;
  try {
    if (!Deno.statSync(folder.control).isFile) return null; // a pipe would be waited for
    const { data } = controlSchema.safeParse(JSON.parse(Deno.readTextFileSync(folder.control)));
    return data ?? null;
  } catch (error) {
    // The run ends at this moment, or another program wrote there.
    if (error instanceof Deno.errors.NotFound || error instanceof SyntaxError) return null;
    throw error;
  }
}

/** The process that runs what is in the folder at present; null when none does. */
export function liveProcess(folder: RunFolder): RunProcess | null {
  const found = readControlFile(folder);
  return found !== null && isAlive(found.process) ? found : null;
}

/**
 * Two processes in one folder would write over each other.
 *
 * @throws UserError when a process runs what is in the folder
 */
export function requireNotRunning(folder: RunFolder): void {
  const running = liveProcess(folder);
  if (running === null) return;
  const { pid } = running.process;
  const how = Deno.build.os === "windows" ? "Ctrl-C in its window" : `kill -INT ${pid}`;
  throw new UserError(`${folder.path} is being run by process ${pid}. Stop that one first: ${how}`);
}
