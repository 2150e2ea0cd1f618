import { readTextFileSync } from "../../platform/system/files.ts";
import { exists } from "../../platform/files/atomic_file.ts";
import type { RunFolder } from "../store/run_folder.ts";

/** A report has room for so many; `events.jsonl` has them all. */
const MOST = 20;

/** Warnings of a run since it was begun, each once: the last ones, and how many there were before. */
export function describeWarnings(run: RunFolder): string[] {
  if (!exists(run.events)) return [];
  const messages = new Set(readTextFileSync(run.events).split("\n").flatMap(warningIn));
  const left = messages.size - MOST;
  const more = left > 0 ? [`${left} earlier ones are in events.jsonl`] : [];
  return [...more, ...[...messages].slice(-MOST)];
}

function warningIn(line: string): string[] {
  if (!line.includes('"warning"')) return [];
  try {
    const { type, message } = JSON.parse(line);
    return type === "warning" && typeof message === "string" ? [message] : [];
  } catch {
    return []; // cut short or damaged: it says nothing
  }
}
