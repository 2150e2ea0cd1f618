import { resolve } from "node:path";
import { REASON_FILE } from "../../base/failure_reason.ts";
import { identify, type ProcessIdentity } from "../../base/process_identity.ts";
import { exists, removeIfPresent } from "../../base/atomic_file.ts";
import { childEnvironment } from "./child_environment.ts";

/** A process that was started. */
export interface StartedProcess {
  readonly process: ProcessIdentity;
  /** Settles with its exit code: of one that a signal has ended, 128 and the signal's number. */
  readonly ended: Promise<number>;
}

/** Where what a process prints goes. */
export interface OutputFiles {
  readonly output: string;
  /** Its standard error, kept apart: the output's last lines would be taken for why it ended. */
  readonly errors: string;
  /** Where it writes why it fails; left out: nobody asks. */
  readonly reason?: string;
}

/** Bytes of the errors in which the last words are looked for. */
const LAST_BYTES = 4096;
const MOST_LINES = 8;
/** How far a run is goes to standard error too, and is no error. */
const PROGRESS = / tokens\/s · (.+ left|done)$/;

/**
 * Starts the program with options as a person would type them. It outlives this process, so what it prints goes to
 * files.
 *
 * @param program its main module
 */
export function startProcess(
  program: string,
  args: readonly string[],
  { output, errors, reason }: OutputFiles,
): StartedProcess {
  // What an earlier part of a run has left is not why this one fails.
  if (reason !== undefined) removeIfPresent(reason);
  const command = [Deno.execPath(), "run", "-A", "--node-modules-dir=manual", program, ...args];
  const child = new Deno.Command("sh", {
    args: ["-c", 'errors=$1; shift; exec "$@" >"$0" 2>"$errors"', output, errors, ...command],
    env: {
      ...childEnvironment(),
      ...(reason === undefined ? {} : { [REASON_FILE]: resolve(reason) }),
    },
    clearEnv: true,
    stdin: "null",
    stdout: "null",
    stderr: "null",
    detached: true,
  }).spawn();
  child.unref();
  return { process: identify(child.pid), ended: child.status.then(({ code }) => code) };
}

/** Text that can be an argument of a process. */
// deno-lint-ignore no-control-regex
export const WITHOUT_NUL = /^[^\u0000]*$/;

/** The last lines that a process printed on standard error; null when there are none. */
export function lastErrorLines({ errors }: OutputFiles): string | null {
  if (!exists(errors)) return null;
  using file = Deno.openSync(errors, { read: true });
  const { size } = file.statSync();
  file.seekSync(Math.max(0, size - LAST_BYTES), Deno.SeekMode.Start);
  const bytes = new Uint8Array(Math.min(size, LAST_BYTES));
  const count = file.readSync(bytes) ?? 0;
  const text = new TextDecoder().decode(bytes.subarray(0, count));
  return lastLines(text);
}

/** The last lines of a text, without what only colours it and how far a run was; null when it has none. */
export function lastLines(text: string): string | null {
  // deno-lint-ignore no-control-regex
  const lines = text.replaceAll(/\x1b\[[0-9;?]*[a-zA-Z]/g, "").split(/[\r\n]+/)
    .filter((line) => line.trim() !== "" && !PROGRESS.test(line));
  return lines.slice(-MOST_LINES).join("\n") || null;
}
