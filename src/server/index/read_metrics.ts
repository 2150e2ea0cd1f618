import { z } from "@hono/zod-openapi";
import { BLOCK } from "./columns.ts";
import { firstAtLeast, PHASES, ROW, type RunIndex } from "./run_index.ts";

const EVALUATION = PHASES.indexOf("evaluation");

/** What is asked of a run's metrics. */
export interface MetricsQuery {
  readonly names: readonly string[];
  /** First and last step. */
  readonly from: number;
  readonly to: number;
  /** Rows at most; neighbours are averaged where there are more. */
  readonly points: number;
}

/** Columns of numbers. */
export const metricsTableSchema = z.object({
  steps: z.array(z.number()),
  phases: z.array(z.string()).describe(
    "generator, verifier or evaluation; several, where a row is the mean of steps of both.",
  ),
  series: z.record(z.string(), z.array(z.number().nullable())),
}).openapi("Metrics");
export type MetricsTable = z.infer<typeof metricsTableSchema>;

/** The names of a run's metrics. */
export function metricNames(index: RunIndex, run: number): string[] {
  const others: readonly string[] = Object.values(ROW);
  return index.database.all("SELECT name FROM names WHERE run = ? ORDER BY name", run)
    .map(({ name }) => String(name))
    .filter((name) => !others.includes(name));
}

/** Reads metrics: a row for each line of metrics.jsonl, or for some lines that follow each other. */
export function readMetrics(index: RunIndex, run: number, query: MetricsQuery): MetricsTable {
  return readSpans(index, run, query.names, metricSpans(index, run, query));
}

/**
 * The spans of rows that are asked for.
 *
 * @returns the first row of each, and the row after the last
 */
export function metricSpans(
  index: RunIndex,
  run: number,
  { from, to, points }: Omit<MetricsQuery, "names">,
): Float64Array {
  const stepOf = index.columns.read(run, ROW.step, index.rowsOf(run));
  return evenSpans(firstAtLeast(stepOf, from), firstAtLeast(stepOf, to + 1), points);
}

/**
 * Reads spans of rows.
 *
 * @param firsts as of `metricSpans`, or a part of it
 */
export function readSpans(
  index: RunIndex,
  run: number,
  names: readonly string[],
  firsts: Float64Array,
): MetricsTable {
  const rows = index.rowsOf(run);
  const stepOf = index.columns.read(run, ROW.step, rows);
  const phaseOf = index.columns.read(run, ROW.phase, rows);
  const nexts = Array.from(firsts.subarray(1));
  return {
    steps: nexts.map((next) => stepOf[next - 1]),
    phases: nexts.map((next, span) => phaseBetween(phaseOf, firsts[span], next)),
    series: Object.fromEntries(
      names.map((name) => [name, index.columns.means(run, name, rows, firsts)]),
    ),
  };
}

/** The phase of rows that follow each other; an evaluation among steps counts as those. */
function phaseBetween(phaseOf: Float64Array, first: number, next: number): string {
  let phase = EVALUATION;
  for (let row = first; row < next; row++) {
    const other = phaseOf[row];
    if (other === EVALUATION || other === phase) continue;
    if (phase !== EVALUATION) return "several";
    phase = other;
  }
  return PHASES[phase] ?? "generator";
}

/**
 * Cuts rows into spans of about the same length; those that are long begin and end with a block.
 *
 * @returns the first row of each, and the row after the last
 */
function evenSpans(begin: number, end: number, points: number): Float64Array {
  const count = Math.max(0, Math.min(points, end - begin));
  const length = (end - begin) / count;
  const unit = length < 2 * BLOCK ? 1 : BLOCK;
  const firsts = new Float64Array(count + 1);
  for (let point = 0; point < count; point++) {
    firsts[point] = Math.floor((begin + Math.floor(point * length)) / unit) * unit;
  }
  firsts[0] = begin;
  firsts[count] = end;
  return firsts;
}

/** Rows among which a last value is looked for. */
const LAST_ROWS = 2000;

/** A metric's value in the last row that has it; null when there is none, or long ago. */
export function lastValue(index: RunIndex, run: number, name: string): number | null {
  const values = index.columns.read(run, name, index.rowsOf(run)).subarray(-LAST_ROWS);
  const row = values.findLastIndex((value) => !Number.isNaN(value));
  return row < 0 ? null : values[row];
}
