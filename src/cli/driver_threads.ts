/**
 * The environment of processes that share this machine's cores, for Mesa's software driver, which would take all cores
 * for each of them. The share of one core is none: a thread that the process hands its work to and waits for costs two
 * changes of thread for every launch. A number that the user has set stays.
 */
export function driverThreads(processes: number): { readonly LP_NUM_THREADS: string } {
  const share = Math.floor(navigator.hardwareConcurrency / processes);
  return { LP_NUM_THREADS: Deno.env.get("LP_NUM_THREADS") ?? `${share > 1 ? share : 0}` };
}
