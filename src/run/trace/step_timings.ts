import type { Transfer } from "../../distributed/timed_communicator.ts";
import type { Metrics } from "../store/metrics_log.ts";
import { lengthOf, type TimeInterval, within } from "./intervals.ts";
import type { RankWaiting } from "./waiting.ts";

/**
 * Timings of a step for timings.jsonl: of each rank r `perf/idle_share/rank_r`, the share of the step in which
 * it waited for another rank, and `perf/bytes_sent/rank_r`; and over all ranks `perf/idle_share` and
 * `perf/communication_share`, the means, and `perf/bytes_sent`, the sum. What tells the first rank all this is sent too.
 *
 * @param step from when to when it lasted, milliseconds
 * @param waiting of each rank
 * @param transfers of each rank
 * @param reported bytes that each rank sent for the sake of these numbers
 */
export function stepTimings(
  step: TimeInterval,
  waiting: readonly RankWaiting[],
  transfers: readonly (readonly Transfer[])[],
  reported: readonly number[],
): Metrics {
  const [began, ended] = step;
  const shareOf = (intervals: readonly TimeInterval[]) =>
    lengthOf(within(intervals, step)) / Math.max(1e-9, ended - began);
  const idle = waiting.map((rank) => shareOf(rank.idle));
  const communicating = waiting.map((rank) => shareOf(rank.communicating));
  const sent = transfers.map((some, rank) =>
    some.reduce(
      (sum, { kind, bytes, begin }) => kind === "send" && begin >= began ? sum + bytes : sum,
      reported[rank],
    )
  );
  const total = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);
  const perRank = (name: string, values: readonly number[]) =>
    Object.fromEntries(values.map((value, rank) => [`${name}/rank_${rank}`, value]));
  return {
    "perf/idle_share": total(idle) / idle.length,
    "perf/communication_share": total(communicating) / communicating.length,
    "perf/bytes_sent": total(sent),
    ...perRank("perf/idle_share", idle),
    ...perRank("perf/bytes_sent", sent),
  };
}
