import type { EventLine } from "../../src/run/events/told_event.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";

/** The whole lines of a run's events.jsonl; none while there is no file. */
export function toldOf(run: string): EventLine[] {
  try {
    const lines = Deno.readTextFileSync(RunFolder.at(run).events).split("\n");
    return lines.slice(0, -1).map((line) => JSON.parse(line));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

/** Waits until something holds. */
export async function until<Value>(look: () => Value | null | undefined | false): Promise<Value> {
  for (;;) {
    const found = look();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
