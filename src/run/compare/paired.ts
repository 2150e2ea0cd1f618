/** Paired differences over seeds, with intervals. */

import { mean, sampleVariance } from "../../base/statistics.ts";
import { studentT } from "../../base/student_t.ts";
import { RandomStream, streams } from "../../random/philox.ts";

/** Lower and upper end. */
export type Interval = readonly [number, number];

/** Share of repetitions whose interval holds the true mean. */
export const LEVEL = 0.95;

/** How means are resampled. */
export const BOOTSTRAP = { resamples: 10_000, seed: 0 } as const;

/** A mean over pairs, and how sure it is; null intervals of a single pair. */
export interface PairedDifference {
  readonly pairs: number;
  readonly mean: number;
  /** Percentile bootstrap. */
  readonly bootstrap: Interval | null;
  /** Mean ± t·s/√n. */
  readonly t: Interval | null;
}

/** @param differences one for each pair, at least one */
export function pairedDifference(differences: readonly number[]): PairedDifference {
  const several = differences.length > 1;
  return {
    pairs: differences.length,
    mean: mean(differences),
    bootstrap: several ? bootstrapInterval(differences) : null,
    t: several ? tInterval(differences) : null,
  };
}

/** Mean ± t·s/√n with the sample deviation s; of at least two values. */
export function tInterval(values: readonly number[]): Interval {
  const half = studentT(LEVEL, values.length - 1) *
    Math.sqrt(sampleVariance(values) / values.length);
  const centre = mean(values);
  return [centre - half, centre + half];
}

/**
 * Percentile bootstrap of the mean: quantiles of the means of resamples, each drawn with replacement and as large as the
 * values. Resample r draws from the counter-based generator at (seed, bootstrap, step r), so that measures of the same
 * seeds are resampled alike.
 */
export function bootstrapInterval(
  values: readonly number[],
  { resamples, seed }: { readonly resamples: number; readonly seed: number } = BOOTSTRAP,
): Interval {
  const count = values.length;
  const draws = drawsOf(count, resamples, seed);
  const means = new Float64Array(resamples);
  for (let r = 0; r < resamples; r++) {
    let sum = 0;
    for (let i = 0; i < count; i++) sum += values[draws[r * count + i]];
    means[r] = sum / count;
  }
  means.sort();
  return [quantile(means, (1 - LEVEL) / 2), quantile(means, (1 + LEVEL) / 2)];
}

const known = new Map<string, Uint16Array>();

/** Which values each resample holds, [resamples, count]. */
function drawsOf(count: number, resamples: number, seed: number): Uint16Array {
  const key = `${count} ${resamples} ${seed}`;
  const before = known.get(key);
  if (before !== undefined) return before;
  const draws = new Uint16Array(resamples * count);
  for (let r = 0; r < resamples; r++) {
    const random = new RandomStream(seed, streams.bootstrap, r);
    for (let i = 0; i < count; i++) draws[r * count + i] = random.integer(count);
  }
  known.set(key, draws);
  return draws;
}

/** Interpolated between neighbours, as numpy.quantile does. */
function quantile(sorted: Float64Array, share: number): number {
  const place = share * (sorted.length - 1);
  const below = Math.floor(place);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}
