/** Telling one process from another that has its number later. */

import { processStart } from "./process_start.ts";

/** Facts that identify a process, so that it and no other is found or ended. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When it was started, see `processStart`: a number that another process had before is told apart. */
  readonly started: string;
  /** Place of the process; only one of the same place can find it. */
  readonly place: string;
}

/** This process, for those that may have to find it. */
export function ownProcess(): ProcessIdentity {
  return identify(Deno.pid);
}

/** A process that is known to go on, such as a child; one that has ended is alive to nobody. */
export function identify(pid: number): ProcessIdentity {
  return { pid, started: processStart(pid) ?? "", place: place() };
}

/** Whether a process of this machine goes on: one that has ended and is not yet collected does not. */
export function isAlive({ pid, started, place: itsPlace }: ProcessIdentity): boolean {
  return itsPlace === place() && processStart(pid) === started;
}

/** Whether a process of this machine is known to have ended, though what it held may not be given back yet. */
export function hasEnded(process: ProcessIdentity): boolean {
  return process.started !== "" && process.place === place() && !isAlive(process);
}

/** Ends a process of this machine, unless it is gone or another has its number by now. It may be a stopped one. */
export function killProcess(process: ProcessIdentity): void {
  if (!isAlive(process)) return;
  try {
    Deno.kill(process.pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** The place in which process numbers mean the same: a boot of a machine, and a container's own numbering on it. */
function place(): string {
  // Elsewhere a start is a time of day, which no boot repeats. A machine's name is no help: it may change with the network.
  if (Deno.build.os !== "linux") return Deno.build.os;
  try {
    const boot = Deno.readTextFileSync("/proc/sys/kernel/random/boot_id").trim();
    return `${boot} ${Deno.readLinkSync("/proc/self/ns/pid")}`;
  } catch {
    return "unknown"; // no /proc: nobody is ended from outside, since a start is not known either
  }
}

/** Ends a process that leads a group, as a detached one does, and those that it started. */
export function killGroup(process: ProcessIdentity): void {
  if (!isAlive(process)) return;
  if (Deno.build.os === "windows") {
    new Deno.Command("taskkill", { args: ["/T", "/F", "/PID", `${process.pid}`] }).outputSync();
    return;
  }
  try {
    Deno.kill(-process.pid, "SIGKILL");
  } catch (error) {
    // The process came to its end in the moment between.
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
