import { childEnvironment } from "./child_environment.ts";

/** What a process may take. */
export interface ProcessLimits {
  readonly seconds: number;
  readonly megabytes: number;
  /** Ends it: nobody waits any more. */
  readonly signal?: AbortSignal;
}

/** How a process ended. */
export interface EndedProcess {
  readonly code: number;
  /** What it printed, and what it said on standard error. */
  readonly printed: string;
  readonly said: string;
  /** Whether it was more than it may take. */
  readonly isTooMuch: boolean;
}

/**
 * Runs a program of this server's in a process of its own, so that what takes long holds up nobody else.
 *
 * @param program its address
 */
export async function runApart(
  program: string,
  args: readonly string[],
  { seconds, megabytes, signal }: ProcessLimits,
): Promise<EndedProcess> {
  const timeout = AbortSignal.timeout(1000 * seconds);
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-A", "--no-check", `--v8-flags=--max-old-space-size=${megabytes}`],
      ...[program, ...args],
    ],
    env: childEnvironment(),
    clearEnv: true,
    stdin: "null",
    signal: signal ? AbortSignal.any([timeout, signal]) : timeout,
  }).output();
  const [printed, said] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes).trim());
  return { code, printed, said, isTooMuch: timeout.aborted || /out of memory/i.test(said) };
}
