/** Results of the runs of a comparison. */

import { mean, sampleVariance } from "../../base/statistics.ts";
import type { ComparedMethod, ComparedRun } from "./comparison.ts";
import { readJsonLines } from "../store/json_lines_log.ts";
import type { Point } from "../report/line_charts.ts";
import { METRIC } from "../store/metric_names.ts";
import type { MetricsLine } from "../store/metrics_log.ts";
import { isFinished } from "../session/training_session.ts";

/** A measure at a run's start and at its end. */
export interface Ends {
  readonly start: number;
  readonly end: number;
}

/** A measure over a run, also by generator steps in between. */
export interface AccuracyCurve extends Ends {
  readonly points: readonly Point[];
}

/** The measures of a finished run. */
export interface RunResult {
  readonly run: ComparedRun;
  readonly generator: AccuracyCurve;
  /** Null without a verifier. */
  readonly verifier: AccuracyCurve | null;
}

/** Mean and sample standard deviation (n − 1; 0 for a single value). */
export interface Spread {
  readonly mean: number;
  readonly deviation: number;
}

/** The results of a method over its finished seeds. */
export interface MethodResult {
  readonly method: ComparedMethod;
  readonly runs: readonly RunResult[];
}

/** Reads the metrics of the finished runs, by method in the order of the plan. */
export function readComparedRuns(runs: readonly ComparedRun[]): MethodResult[] {
  const finished = runs.filter(({ folder, config }) => isFinished(folder, config)).map(readRun);
  return [...new Set(runs.map(({ method }) => method))]
    .map((method) => ({ method, runs: finished.filter(({ run }) => run.method === method) }))
    .filter((result) => result.runs.length > 0);
}

function readRun(run: ComparedRun): RunResult {
  const lines = readJsonLines<MetricsLine>(run.folder.metrics);
  const generator = courseOf(lines, METRIC.generatorAccuracy);
  if (!generator) throw new Error(`${run.folder.metrics} holds no evaluation`);
  return { run, generator, verifier: courseOf(lines, METRIC.verifierBalancedAccuracy) };
}

/**
 * A measure by generator steps done. Verifier steps do not move it forward: of several evaluations at
 * the same generator step the last counts, except at 0, which is the start.
 *
 * @param lines of metrics.jsonl, in order
 */
export function courseOf(lines: readonly MetricsLine[], metric: string): AccuracyCurve | null {
  const byStep = new Map<number, number>();
  const values: number[] = [];
  let generatorSteps = 0;
  for (const line of lines) {
    if (line.phase === "generator") generatorSteps++;
    const value = line[metric];
    if (line.phase !== "evaluation" || typeof value !== "number") continue;
    values.push(value);
    if (generatorSteps > 0 || !byStep.has(0)) byStep.set(generatorSteps, value);
  }
  const last = values.at(-1);
  return last === undefined ? null : { start: values[0], end: last, points: [...byStep] };
}

/** Mean and spread of some values. */
export function spreadOf(values: readonly number[]): Spread {
  return { mean: mean(values), deviation: Math.sqrt(sampleVariance(values)) };
}

/** Mean and spread over runs at each generator step that all of them have. */
export function spreadCurve(courses: readonly AccuracyCurve[]): { step: number; spread: Spread }[] {
  const [first, ...others] = courses.map(({ points }) => new Map(points));
  return [...first ?? []].flatMap(([step, value]) => {
    const rest = others.map((points) => points.get(step));
    const values = [value, ...rest.filter((one) => one !== undefined)];
    return values.length === courses.length ? [{ step, spread: spreadOf(values) }] : [];
  });
}

/** Finished runs of one method, as far as the table goes. */
export interface MethodEnds {
  readonly method: Pick<ComparedMethod, "name">;
  readonly runs: readonly { readonly generator: Ends; readonly verifier: Ends | null }[];
}

/** Mean and spread over so many runs. */
export interface Measured extends Spread {
  readonly runs: number;
}

/** A row of the table, over finished runs; null where none has the measure. */
export interface ComparisonRow {
  readonly name: string;
  /** How many. */
  readonly runs: number;
  readonly generatorAccuracy: Measured | null;
  readonly verifierBalancedAccuracy: Measured | null;
}

/** The table: where all began, and where each method came to. */
export function comparisonRows(results: readonly MethodEnds[]): ComparisonRow[] {
  const row = (name: string, runs: MethodEnds["runs"], when: keyof Ends): ComparisonRow => ({
    name,
    runs: runs.length,
    generatorAccuracy: measured(runs.map(({ generator }) => generator[when])),
    verifierBalancedAccuracy: measured(
      runs.flatMap(({ verifier }) => verifier ? [verifier[when]] : []),
    ),
  });
  return [
    row("warm start", results.flatMap(({ runs }) => runs), "start"),
    ...results.map(({ method, runs }) => row(method.name, runs, "end")),
  ];
}

function measured(values: readonly number[]): Measured | null {
  return values.length === 0 ? null : { ...spreadOf(values), runs: values.length };
}
