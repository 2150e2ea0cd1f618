import type { EventLine } from "../../run/events/told_event.ts";
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

/** A phase of a step, in seconds since the run began. */
export interface PhaseSpan {
  readonly name: string;
  readonly step: number;
  readonly begin: number;
  readonly end: number;
}

/** The phases of some steps. */
export function phaseSpans(database: Database, run: number, from: number, to: number): PhaseSpan[] {
  const [first] = eventsAfter(database, run, 0, 1);
  if (first === undefined) return [];
  const start = Date.parse((JSON.parse(first.line) as EventLine).time);
  return database.all(
    `SELECT line FROM events WHERE run = ? AND type = 'phaseEnded' AND step >= ? AND step <= ?
     ORDER BY number DESC LIMIT 20000`,
    ...[run, from, to],
  ).reverse().flatMap(({ line }) => {
    const event = JSON.parse(String(line)) as EventLine;
    if (event.type !== "phaseEnded") return [];
    const end = (Date.parse(event.time) - start) / 1000;
    return [{ name: event.phase, step: event.step, begin: Math.max(0, end - event.seconds), end }];
  });
}
