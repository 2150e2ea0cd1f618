import { UserError } from "../../base/user_error.ts";
import { readJsonLines } from "../store/json_lines_log.ts";
import { METRIC } from "../store/metric_names.ts";
import type { MetricsLine } from "../store/metrics_log.ts";
import type { RunFolder } from "../store/run_folder.ts";
import type { MeanResponses } from "./planned_policies.ts";

/** Mean seconds of the steps of one kind in a run. */
export interface MeasuredStep {
  readonly seconds: number;
  readonly rollout: number;
  readonly verification: number;
  readonly continuation: number;
  readonly gradient: number;
  readonly optimizer: number;
}

/** Measurements in a run's logs that a prediction can begin with or be held against. */
export interface MeasuredRun {
  readonly means: MeanResponses;
  readonly generatorStep: MeasuredStep | null;
  readonly verifierStep: MeasuredStep | null;
}

/**
 * Reads a run's logs. The first step of each kind is left out: kernels are compiled in it.
 *
 * @throws UserError when there are none
 */
export function readMeasuredRun(folder: RunFolder): MeasuredRun {
  const metrics = readJsonLines<MetricsLine>(folder.metrics);
  const timings = readJsonLines<MetricsLine>(folder.timings);
  if (timings.length === 0) throw new UserError(`${folder.path} holds no steps yet to plan by.`);
  return {
    means: {
      solution: meanOf(metrics, METRIC.generatorLength) ?? undefined,
      critique: meanOf(metrics, METRIC.verifierLength) ?? undefined,
      steps: meanOf(metrics, METRIC.generatorSteps) ?? undefined,
    },
    generatorStep: measuredStep(timings, "generator"),
    verifierStep: measuredStep(timings, "verifier"),
  };
}

function measuredStep(
  timings: readonly MetricsLine[],
  phase: MetricsLine["phase"],
): MeasuredStep | null {
  const all = timings.filter((line) => line.phase === phase);
  const [first] = all;
  if (!first) return null;
  // Verification begins only after a warm-up, so that its own first time counts.
  const isFirst = (line: MetricsLine) =>
    line === first ||
    line === all.find((other) => ("perf/verification_seconds" in other));
  const later = all.filter((line) => !isFirst(line));
  const lines = later.length > 0 ? later : all;
  const full = lines.filter((line) => "perf/verification_seconds" in line);
  const counted = full.length > 0 ? full : lines;
  const mean = (name: string) => meanOf(counted, name) ?? 0;
  return {
    seconds: mean(METRIC.stepSeconds),
    rollout: mean("perf/rollout_seconds"),
    verification: mean("perf/verification_seconds"),
    continuation: mean("perf/continuation_seconds"),
    gradient: mean("perf/forward_backward_seconds"),
    optimizer: mean("perf/optimizer_seconds"),
  };
}

/** The mean over the lines that have it. */
function meanOf(lines: readonly MetricsLine[], name: string): number | null {
  const values = lines.flatMap((line) => name in line ? [Number(line[name])] : []);
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}
