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
