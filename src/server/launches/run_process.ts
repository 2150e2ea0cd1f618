import { identify, type ProcessIdentity } from "../../base/process_identity.ts";
import { exists } from "../../base/atomic_file.ts";

/** A process that was started. */
export interface StartedProcess {
  readonly process: ProcessIdentity;
  /** Settles with its exit code. */
  readonly ended: Promise<number>;
}

/** Bytes of the output in which the last words are looked for. */
const LAST_BYTES = 4096;
const MOST_LINES = 8;

/**
 * Starts the program with options as a person would type them. It outlives this process, so what it prints goes to a
 * file.
 *
 * @param program its main module
 */
export function startProcess(
  program: string,
  args: readonly string[],
  output: string,
): StartedProcess {
  const { TANGO_TOKEN: _secret, ...env } = Deno.env.toObject();
  const command = [Deno.execPath(), "run", "-A", "--node-modules-dir=manual", program, ...args];
  const child = new Deno.Command("sh", {
    args: ["-c", 'exec "$@" >"$0" 2>&1', output, ...command],
    env,
    clearEnv: true,
    stdin: "null",
    stdout: "null",
    stderr: "null",
    detached: true,
  }).spawn();
  child.unref();
  return { process: identify(child.pid), ended: child.status.then(({ code }) => code) };
}

/** The last lines of what a process printed; null when it printed nothing. */
export function lastWords(output: string): string | null {
  if (!exists(output)) return null;
  using file = Deno.openSync(output, { read: true });
  const { size } = file.statSync();
  file.seekSync(Math.max(0, size - LAST_BYTES), Deno.SeekMode.Start);
  const bytes = new Uint8Array(Math.min(size, LAST_BYTES));
  const count = file.readSync(bytes) ?? 0;
  const text = new TextDecoder().decode(bytes.subarray(0, count));
  return lastLines(text);
}

/** The last lines of a text, without what only colours it; null when it has none. */
export function lastLines(text: string): string | null {
  // deno-lint-ignore no-control-regex
  const lines = text.replaceAll(/\x1b\[[0-9;?]*[a-zA-Z]/g, "").split(/[\r\n]+/)
    .filter((line) => line.trim() !== "");
  return lines.slice(-MOST_LINES).join("\n") || null;
}
