import type { Database } from "./database.ts";

/** Lines of events.jsonl after one of a number, the oldest first. */
export function eventsAfter(
  database: Database,
  run: number,
  number: number,
  limit: number,
): { readonly number: number; readonly line: string }[] {
  return database.all(
    "SELECT number, line FROM events WHERE run = ? AND number > ? ORDER BY number LIMIT ?",
    ...[run, number, limit],
  ).map(({ number, line }) => ({ number: Number(number), line: String(line) }));
}

/** The number after which the last `count` events come. */
export function numberBeforeLast(database: Database, run: number, count: number): number {
  const row = database.get("SELECT max(number) AS last FROM events WHERE run = ?", run);
  return Math.max(0, Number(row?.last ?? 0) - count);
}
