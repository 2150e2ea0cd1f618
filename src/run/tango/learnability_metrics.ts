import { describeLearnability, type Learnability } from "../../rl/measures/learnability.ts";
import { METRIC } from "../store/metric_names.ts";
import type { Metrics } from "../store/metrics_log.ts";

/** Metrics of whether there is something to learn. */
export function learnabilityMetrics(found: Learnability): Metrics {
  return {
    [METRIC.startProblems]: found.problems,
    [METRIC.startPassAt1]: found.passAt1,
    [METRIC.startPassAt8]: found.passAt8,
    [METRIC.startMixed]: found.mixedShare,
  };
}

/** What such metrics say in one line; null where they are not among them. */
export function describeLearnabilityMetrics(metrics: Metrics): string | null {
  if (!(METRIC.startProblems in metrics)) return null;
  return describeLearnability({
    problems: metrics[METRIC.startProblems],
    passAt1: metrics[METRIC.startPassAt1],
    passAt8: metrics[METRIC.startPassAt8],
    mixedShare: metrics[METRIC.startMixed],
  });
}
