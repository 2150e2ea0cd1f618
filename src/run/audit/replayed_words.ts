import type { MetricsLine } from "../store/metrics_log.ts";
import type { Replayed } from "./replay.ts";

/** How a record that was made anew compares with the one that the run wrote. */
export interface ComparedRecord {
  /** Parts that are the same. */
  readonly same: readonly string[];
  /** Parts that differ, in the order in which they came about, so that the first is where it begins. */
  readonly differing: readonly string[];
}

/** Compares them part by part. */
export function compareReplayed({ record, parts }: Replayed): ComparedRecord {
  const names = [...new Set([...Object.keys(record.parts), ...Object.keys(parts)])];
  const isSame = (name: string) => record.parts[name] === parts[name];
  return { same: names.filter(isSame), differing: names.filter((name) => !isSame(name)) };
}

/** What is the same and what differs, in a few words. */
export function describeCompared({ same, differing }: ComparedRecord): string {
  if (differing.length === 0) return same.join(", ");
  const [first, ...later] = differing;
  return [
    `first in ${first}`,
    ...(later.length === 0 ? [] : [`then in ${later.join(", ")}`]),
    ...(same.length === 0 ? [] : [`the same: ${same.join(", ")}`]),
  ].join("; ");
}

/**
 * How the numbers of a step that another device did compare, in a few words.
 *
 * @param line the run's own of metrics.jsonl
 */
export function describeNumbers({ metrics }: Replayed, line: MetricsLine | undefined): string {
  const shared = Object.entries(metrics).flatMap(([name, now]) => {
    const before = line?.[name];
    return typeof before === "number" && Number.isFinite(now) ? [{ name, before, now }] : [];
  });
  if (shared.length === 0) return "no number to compare";
  const apart = ({ before, now }: { before: number; now: number }) =>
    before === now ? 0 : Math.abs(before - now) / Math.max(Math.abs(before), Math.abs(now));
  const [farthest] = [...shared].sort((a, b) => apart(b) - apart(a));
  const equal = shared.filter((one) => apart(one) === 0).length;
  const words = `${equal} of ${shared.length} metrics are the same`;
  if (equal === shared.length) return words;
  const { name, before, now } = farthest;
  return `${words}; farthest apart ${name}, ${before} in the run and ${now} now`;
}
