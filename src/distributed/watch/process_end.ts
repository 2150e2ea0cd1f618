/** Ending processes from a thread that is not the main one. */

import { systemLibrary } from "../../platform/process/system_library.ts";

/**
 * Ends this process at once, from any thread: `Deno.exit` in a worker ends the worker alone, and the main thread may be
 * stuck in a driver.
 */
export function endProcess(code: number): never {
  if (systemLibrary !== null) {
    const system = Deno.dlopen(systemLibrary, { _exit: { parameters: ["i32"], result: "void" } });
    system.symbols._exit(code);
  }
  Deno.kill(Deno.pid, "SIGKILL");
  throw new Error("a process cannot outlive SIGKILL");
}

const parent = Deno.ppid;

/** Whether the process that started this one, such as MPI's launcher, has ended. */
export function isOrphaned(): boolean {
  return Deno.ppid !== parent;
}
