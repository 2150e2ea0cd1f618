/** `curves.svg`: how a run went, from its metrics. */

import { type LineSeries, type Point, renderLineCharts, SERIES_COLORS } from "./line_charts.ts";
import { METRIC } from "../store/metric_names.ts";
import type { MetricsLine } from "../store/metrics_log.ts";

const [GENERATOR_COLOR, VERIFIER_COLOR, STEPS_COLOR] = SERIES_COLORS;
const SMOOTHED_STEPS = 9;

/** The values of a metric by global step, from the lines that have it. */
export function metricPoints(lines: readonly MetricsLine[], metric: string): Point[] {
  return lines.flatMap((line) => {
    const value = line[metric];
    return typeof value === "number" ? [[line.step, value] as const] : [];
  });
}

/** Each value replaced by the mean of up to `window` values around it (fewer at the ends). */
export function movingMean(points: readonly Point[], window: number): Point[] {
  const reach = Math.floor(window / 2);
  return points.map(([x], index) => {
    const near = points.slice(Math.max(0, index - reach), index + reach + 1);
    return [x, near.reduce((sum, [, y]) => sum + y, 0) / near.length];
  });
}

/**
 * Draws a run: held-out accuracies on the left, rewards on the right.
 *
 * @param lines the lines of metrics.jsonl
 * @returns the text of an SVG file
 */
export function drawCurves(lines: readonly MetricsLine[]): string {
  const hasVerifier = metricPoints(lines, METRIC.verifierBalancedAccuracy).length > 0;
  const hasSteps = metricPoints(lines, METRIC.verifierStepBalancedAccuracy).length > 0;
  return renderLineCharts([
    {
      title: "Held-out problems",
      subtitle: "generator: share of right answers; verifier: balanced accuracy of its judgments",
      xName: "global step",
      isShare: true,
      series: [
        plain("generator accuracy", GENERATOR_COLOR, lines, METRIC.generatorAccuracy),
        plain("verifier balanced accuracy", VERIFIER_COLOR, lines, METRIC.verifierBalancedAccuracy),
        ...(hasSteps
          ? [plain("step judgments", STEPS_COLOR, lines, METRIC.verifierStepBalancedAccuracy)]
          : []),
      ],
      ...(hasVerifier ? { reference: { value: 0.5, label: "a verifier that guesses" } } : {}),
    },
    {
      title: "Training rewards",
      subtitle: `mean reward of each step (faint) and its mean over ${SMOOTHED_STEPS} steps`,
      xName: "global step",
      series: [
        smoothed("generator reward", GENERATOR_COLOR, lines, METRIC.generatorReward),
        smoothed("verifier reward", VERIFIER_COLOR, lines, METRIC.verifierReward),
      ],
    },
  ]);
}

function plain(
  name: string,
  color: string,
  lines: readonly MetricsLine[],
  metric: string,
): LineSeries {
  return { name, color, points: metricPoints(lines, metric) };
}

function smoothed(
  name: string,
  color: string,
  lines: readonly MetricsLine[],
  metric: string,
): LineSeries {
  const rawPoints = metricPoints(lines, metric);
  return { name, color, points: movingMean(rawPoints, SMOOTHED_STEPS), rawPoints };
}
