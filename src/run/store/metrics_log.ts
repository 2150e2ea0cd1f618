/**
 * `metrics.jsonl`: what was measured in each step. It holds nothing that depends on the clock (that is
 * `timings.jsonl`), so that the same run always writes the same bytes.
 */

import { JsonLinesLog } from "./json_lines_log.ts";

/** Kind of a step: trained the generator, trained the verifier, or measured both. */
export type Phase = "generator" | "verifier" | "evaluation";

/** Metric values by name. */
export type Metrics = Readonly<Record<string, number>>;

/** One line of metrics.jsonl or timings.jsonl: metric names as TRL has them, such as `generator/kl`. */
export interface MetricsLine {
  readonly step: number;
  readonly phase: Phase;
  readonly [metric: string]: number | string;
}

/** The log of metrics.jsonl. */
export class MetricsLog extends JsonLinesLog<MetricsLine> {
  /** @throws Error also when a metric is named `perf/…`: times belong in timings.jsonl */
  override append(line: MetricsLine): void {
    const timed = Object.keys(line).find((name) => name.startsWith("perf/"));
    if (timed !== undefined) {
      throw new Error(
        `${timed} depends on the clock; log it in timings.jsonl, not in ${this.path}`,
      );
    }
    super.append(line);
  }
}

/** The log of timings.jsonl: `perf/…` metrics, which differ from run to run. */
export class TimingsLog extends JsonLinesLog<MetricsLine> {}
