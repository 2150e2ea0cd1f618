import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { constants } from "node:os";
import { resolve } from "node:path";
import { Failure } from "../../base/failure.ts";
import { describeDiskError } from "../../platform/files/disk.ts";
import { REASON_FILE } from "../../platform/process/reason_file.ts";
import { identify, type ProcessIdentity } from "../../platform/process/process_identity.ts";
import { exists, removeIfPresent } from "../../platform/files/atomic_file.ts";
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
 * @throws UserError when the disk does not take these files
 * @throws Failure when the system starts no other process
 */
export function startProcess(
  program: string,
  args: readonly string[],
  { output, errors, reason }: OutputFiles,
): StartedProcess {
  // What an earlier part of a run has left is not why this one fails.
  if (reason !== undefined) removeIfPresent(reason);
  using opened = new DisposableStack();
  const [out, err] = [output, errors].map((path) => opened.adopt(openForWriting(path), closeSync));
  const child = spawn(
    Deno.execPath(),
    ["run", "-A", "--node-modules-dir=manual", program, ...args],
    {
      env: {
        ...childEnvironment(),
        ...(reason === undefined ? {} : { [REASON_FILE]: resolve(reason) }),
      },
      stdio: ["ignore", out, err],
      detached: true,
      windowsHide: true,
    },
  );
  // Told later too, where nobody listens any more: without a listener it would end this process.
  child.on("error", () => {});
  const { pid } = child;
  if (pid === undefined) {
    throw new Failure(
      "The system starts no other process: there are too many, or its settings are too long.",
    );
  }
  child.unref();
  const ended = new Promise<number>((resolve) =>
    child.on(
      "exit",
      (code, signal) => resolve(code ?? 128 + (constants.signals[signal ?? "SIGKILL"] ?? 0)),
    )
  );
  return { process: identify(pid), ended };
}

function openForWriting(path: string): number {
  try {
    return openSync(path, "w");
  } catch (error) {
    throw describeDiskError(error, { path, next: "start it again" });
  }
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
