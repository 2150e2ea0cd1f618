/**
 * @import { MetricsTable } from "../contract.ts"
 */

/**
 * One row for each step: what was trained and what was measured after it stand together.
 *
 * @param {MetricsTable} table
 * @param {string} name
 * @returns {Map<number, number>} by step
 */
function valuesByStep(table, name) {
  const values = table.series[name] ?? [];
  /** @type {Map<number, number>} */
  const byStep = new Map();
  for (const [row, step] of table.steps.entries()) {
    const value = values[row];
    if (typeof value === "number") byStep.set(step, value);
  }
  return byStep;
}

/**
 * Several runs' values over the same steps.
 *
 * @param {readonly { table: MetricsTable, name: string }[]} lines
 * @returns {{ steps: number[], columns: (number | null)[][] }} all steps that any line has a value at, in
 *   order, and of each line its value there or null
 */
export function joinRuns(lines) {
  const maps = lines.map(({ table, name }) => valuesByStep(table, name));
  const steps = [...new Set(maps.flatMap((map) => [...map.keys()]))].sort((a, b) => a - b);
  return { steps, columns: maps.map((map) => steps.map((step) => map.get(step) ?? null)) };
}
