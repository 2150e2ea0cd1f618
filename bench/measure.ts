import type { Gpu } from "../src/gpu/gpu.ts";
import { type TimedKernel, type TimingSample, Workbench } from "./benchmark.ts";
import type { DeviceRates } from "./device_rates.ts";
import { endToEnd } from "./end_to_end/all.ts";
import { benchmarks } from "./kernels/all.ts";
import type { BenchResult } from "./results.ts";
import type { BenchTask } from "./shapes.ts";
import { timeLaunches } from "./timing.ts";

const all = { ...benchmarks, ...endToEnd };

/**
 * Checks one kernel or whole step at one shape and times it.
 *
 * @param report receives a line for every wrong element
 */
export async function measure(
  gpu: Gpu,
  task: BenchTask,
  rates: DeviceRates,
  budget: number,
  report: (line: string) => void,
): Promise<BenchResult> {
  const { name, shape, unit } = task;
  const bench = new Workbench(gpu);
  try {
    const benchmark = await all[task.kernel](bench, shape, task.variant);
    const { error, variants } = await checkOnce(gpu, benchmark, report);
    const { median, spread } = await timeLaunches(gpu, () => benchmark.launch(), budget);
    const perSecond = benchmark.work / median;
    const tokens = unit === "tokens_per_second";
    const rate = tokens ? perSecond : perSecond / 1e9;
    const share = tokens ? null : rate / rates[unit];
    const milliseconds = median * 1e3;
    return { name, shape: shape.label, unit, milliseconds, spread, rate, share, error, variants };
  } finally {
    bench.release();
  }
}

/** The largest error of the first run, in parts of its bound, and the variants that it launched. */
async function checkOnce(
  gpu: Gpu,
  benchmark: TimedKernel,
  report: (line: string) => void,
): Promise<{ readonly error: number; readonly variants: readonly string[] }> {
  const variants = new Set<string>();
  gpu.choices.told = (operation, shapeClass, variant) =>
    variants.add(`${operation} ${shapeClass}: ${variant}`);
  try {
    await benchmark.launch();
  } finally {
    gpu.choices.told = null;
  }
  const error = largestError(await benchmark.check(), report);
  return { error, variants: [...variants] };
}

/**
 * The largest difference in parts of its bound; 1 or less is right.
 *
 * @param report receives a line for every wrong element
 */
export function largestError(
  samples: readonly TimingSample[],
  report: (line: string) => void,
): number {
  let worst = 0;
  for (const { what, actual, expected, bound } of samples) {
    const difference = Math.abs(actual - expected);
    const error = difference === 0 ? 0 : Number.isNaN(difference) ? Infinity : difference / bound;
    worst = Math.max(worst, error);
    if (error > 1) report(`  ${what}: found ${actual}, expected ${expected} within ${bound}`);
  }
  return worst;
}
