/** Ending processes from a thread that is not the main one. */

import type { ProcessIdentity } from "./watched_rank.ts";

const libraries: Partial<Record<typeof Deno.build.os, string>> = {
  linux: "libc.so.6",
  darwin: "libSystem.B.dylib",
};

/**
 * Ends this process at once, from any thread: `Deno.exit` in a worker ends the worker alone, and the main thread may be
 * stuck in a driver.
 */
export function endProcess(code: number): never {
  const library = libraries[Deno.build.os];
  if (library !== undefined) {
    const system = Deno.dlopen(library, { _exit: { parameters: ["i32"], result: "void" } });
    system.symbols._exit(code);
  }
  Deno.kill(Deno.pid, "SIGKILL");
  throw new Error("a process cannot outlive SIGKILL");
}

/** This process, for those that may have to end it. */
export function ownProcess(): ProcessIdentity {
  return { pid: Deno.pid, started: startOf(Deno.pid) ?? "", place: place() };
}

/** Ends a process of this machine, unless it is gone or another has its number by now. It may be a stopped one. */
export function killProcess({ pid, started, place: itsPlace }: ProcessIdentity): void {
  if (itsPlace !== place() || startOf(pid) !== started) return;
  try {
    Deno.kill(pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

const parent = Deno.ppid;

/** Whether the process that started this one, such as MPI's launcher, has ended. */
export function isOrphaned(): boolean {
  return Deno.ppid !== parent;
}

/** Field 22 of its `stat`, which begins after a name in parentheses; null when there is no such process. */
function startOf(pid: number): string | null {
  try {
    const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return null;
  }
}

/** Where process numbers mean the same: a boot of a machine, and a container's own numbering on it. */
function place(): string {
  try {
    const boot = Deno.readTextFileSync("/proc/sys/kernel/random/boot_id").trim();
    return `${boot} ${Deno.readLinkSync("/proc/self/ns/pid")}`;
  } catch {
    return "unknown"; // no Linux: nobody is ended from outside, since a start is not known either
  }
}
