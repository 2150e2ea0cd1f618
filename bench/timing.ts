import type { Gpu } from "../src/gpu/gpu.ts";

const shortestBatchSeconds = 0.03;
const mostLaunches = 4096;

/** How long one launch takes. */
export interface Timing {
  /** Seconds. */
  readonly median: number;
  /** Seconds of the fastest batch's: what the device can do when nothing else is on it. */
  readonly fastest: number;
  /** What lies between the quartiles, as a share of the median: the measurement's own noise. */
  readonly spread: number;
}

/**
 * The time of one `launch`. Launches are recorded in batches that last at least
 * 30 ms, so that the wait at their end counts for little, and at least five batches are timed.
 *
 * @param budget seconds after which no further batch is started
 */
export async function timeLaunches(
  gpu: Gpu,
  launch: () => void | Promise<void>,
  budget: number,
): Promise<Timing> {
  const batch = async (launches: number) => {
    const start = performance.now();
    for (let i = 0; i < launches; i++) {
      const pending = launch();
      if (pending) await pending;
    }
    await gpu.finish();
    return (performance.now() - start) / 1000;
  };
  await batch(1); // compiles
  let launches = 1;
  let seconds = await batch(launches);
  while (seconds < shortestBatchSeconds && launches < mostLaunches) {
    const needed = Math.ceil(launches * 1.2 * shortestBatchSeconds / seconds);
    launches = Math.min(mostLaunches, Math.max(2 * launches, Math.min(needed, 32 * launches)));
    seconds = await batch(launches);
  }
  const times: number[] = [];
  const deadline = performance.now() + budget * 1000;
  while (times.length < 5 || (performance.now() < deadline && times.length < 51)) {
    times.push(await batch(launches) / launches);
  }
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor(times.length * share)];
  const median = at(1 / 2);
  return { median, fastest: times[0], spread: (at(3 / 4) - at(1 / 4)) / median };
}
