import type { Bound, Database } from "./database.ts";

/** What is asked of a run's samples. */
export interface SamplesQuery {
  readonly step?: number;
  /** The text of a problem. */
  readonly group?: string;
  readonly filter?: "disagrees" | "longest" | "cut-off" | "bad-format";
  /** From 1. */
  readonly page?: number;
}

const PAGE = 20;

/** Lines of samples.jsonl: a page of those that are asked for. */
export function findSamples(
  database: Database,
  run: number,
  { step, group, filter, page = 1 }: SamplesQuery,
): { readonly lines: string[]; readonly pages: number; readonly total: number } {
  const conditions = ["run = ?"];
  const values: Bound[] = [run];
  if (step !== undefined) {
    conditions.push("step = ?");
    values.push(step);
  }
  if (group !== undefined) {
    conditions.push("problem = ?");
    values.push(group);
  }
  if (filter === "disagrees") conditions.push("disagrees");
  if (filter === "cut-off") conditions.push("cut");
  if (filter === "bad-format") conditions.push("malformed");
  const where = `FROM samples WHERE ${conditions.join(" AND ")}`;
  const total = Number(database.get(`SELECT count(*) AS total ${where}`, ...values)?.total);
  // Newest step first, within a step as they were written: responses to a problem stay together.
  const order = filter === "longest" ? "length DESC, begin" : "step DESC, begin";
  const lines = database.all(
    `SELECT line ${where} ORDER BY ${order} LIMIT ? OFFSET ?`,
    ...[...values, PAGE, (page - 1) * PAGE],
  ).map(({ line }) => String(line));
  return { lines, pages: Math.max(1, Math.ceil(total / PAGE)), total };
}
