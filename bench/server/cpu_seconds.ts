/** Ticks of a second in /proc: the same on all Linux machines. */
const TICKS = 100;

/** Processor seconds that a process has taken in all its threads (Linux). */
export function cpuSeconds(pid: number): number {
  const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}
