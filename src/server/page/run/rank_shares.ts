import type { MetricsTable } from "../../index/read_metrics.ts";

/** What `rankShares` reads, of each rank. */
const IDLE = "perf/idle_share/rank_";
const SENT = "perf/bytes_sent/rank_";

/**
 * The names of the metrics that say something of single ranks.
 *
 * @param names of all metrics
 */
export function rankMetrics(names: readonly string[]) {
  return names.filter((name) => name.startsWith(IDLE) || name.startsWith(SENT));
}

/**
 * Of each rank the mean share of a step in which it waited for others, and the mean bytes it sent in one.
 *
 * @returns in the order of ranks
 */
export function rankShares(
  { series }: MetricsTable,
): { rank: number; idle: number | null; sent: number | null }[] {
  const ranks = Object.keys(series).flatMap((name) =>
    name.startsWith(IDLE) ? [Number(name.slice(IDLE.length))] : []
  );
  return ranks.sort((a, b) => a - b).map((rank) => ({
    rank,
    idle: mean(series[`${IDLE}${rank}`]),
    sent: mean(series[`${SENT}${rank}`] ?? []),
  }));
}

function mean(values: readonly (number | null)[]) {
  const numbers = values.filter((value) => value !== null);
  if (numbers.length === 0) return null;
  return numbers.reduce((sum, value) => sum + value, 0) / numbers.length;
}
