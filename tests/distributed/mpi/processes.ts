/** Whether a process still does anything; one that nobody has asked for its end does not. */
export function isRunning(pid: number): boolean {
  try {
    const status = Deno.readTextFileSync(`/proc/${pid}/stat`);
    return status[status.lastIndexOf(")") + 2] !== "Z";
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Returns when a process has ended, and throws when it has not after a minute. */
export async function gone(pid: number): Promise<void> {
  for (let waited = 0; waited < 60_000; waited += 50) {
    if (!isRunning(pid)) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`process ${pid} is still there`);
}
