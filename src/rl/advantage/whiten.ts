import { mean, sampleVariance } from "../../base/statistics.ts";

/**
 * Shift and scale all numbers of a batch of rows to mean 0 and sample variance 1: (x - mean) /
 * sqrt(variance + 1e-8), as veRL's masked whitening. All 0 when there are fewer than two numbers.
 */
export function whitenRows(rows: readonly (readonly number[])[]): number[][] {
  const all = rows.flat();
  if (all.length < 2) return rows.map((row) => row.map(() => 0));
  const centre = mean(all);
  const scale = Math.sqrt(sampleVariance(all) + 1e-8);
  return rows.map((row) => row.map((value) => (value - centre) / scale));
}
