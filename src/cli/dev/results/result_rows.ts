/** Rows of bench/results that the tables of docs/results.md are made of. */

import { join } from "node:path";
import { z } from "zod";
import { PROJECT_FOLDER } from "../project.ts";

/** What was measured of the run with a seed, numbers by their metrics' names. */
export type MeasuredRow = Readonly<Record<string, number | string>> & { readonly seed: number };

const sourceSchema = z.object({
  seed: z.int(),
  /** What was typed. */
  command: z.string(),
  /** Revision of the program; null where it was not kept. */
  program: z.string().nullable(),
  /** Adapter, driver and engine. */
  device: z.string(),
  /** End of the run's chain of records; null where it has none. */
  chain: z.string().nullable(),
});

/** Where a run's rows come from. */
export type RunSource = z.output<typeof sourceSchema>;

/** A file of bench/results by its path in it. */
export const resultFile = (path: string): string => join(PROJECT_FOLDER, "bench/results", path);

function linesOf(path: string): unknown[] {
  return Deno.readTextFileSync(resultFile(path)).split("\n")
    .filter((line) => line !== "").map((line) => JSON.parse(line));
}

/** Rows in the order of the file. */
export const readMeasuredRows = (path: string): MeasuredRow[] => linesOf(path) as MeasuredRow[];

/** Where the runs of a folder's rows come from. */
export function readSources(path: string): RunSource[] {
  return linesOf(path).map((line) => sourceSchema.parse(line));
}

/** A number of a row. @throws Error when it has none of that name */
export function numberOf(row: MeasuredRow, metric: string): number {
  const value = row[metric];
  if (typeof value === "number") return value;
  throw new Error(`seed ${row.seed} has no ${metric}`);
}
