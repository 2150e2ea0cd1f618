import type { MetricsTable } from "../../index/read_metrics.ts";

/**
 * One row for each step: what was trained and what was measured after it stand together.
 *
 * @returns by step
 */
function valuesByStep(table: MetricsTable, name: string): Map<number, number> {
  const values = table.series[name] ?? [];
  const byStep = new Map<number, number>();
  for (const [row, step] of table.steps.entries()) {
    const value = values[row];
    if (typeof value === "number") byStep.set(step, value);
  }
  return byStep;
}

/**
 * Several runs' values over the same steps.
 *
 * @returns all steps that any line has a value at, in
 * order, and of each line its value there or null
 */
export function joinRuns(
  lines: readonly { table: MetricsTable; name: string }[],
): { steps: number[]; columns: (number | null)[][] } {
  const maps = lines.map(({ table, name }) => valuesByStep(table, name));
  const steps = [...new Set(maps.flatMap((map) => [...map.keys()]))].sort((a, b) => a - b);
  return { steps, columns: maps.map((map) => steps.map((step) => map.get(step) ?? null)) };
}
