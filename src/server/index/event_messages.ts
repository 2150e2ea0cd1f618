import { eventsAfter } from "./read_events.ts";
import type { RunIndex } from "./run_index.ts";

/** Some events as they are sent. */
interface Messages {
  readonly after: number;
  /** The number of the last. */
  readonly last: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Events at a time. */
const MOST = 500;

/** Events as server-sent messages. Those who follow a run all ask for the same, so that is kept. */
export class EventMessages {
  readonly #kept = new Map<number, Messages>();

  constructor(private readonly index: RunIndex) {}

  /** The messages after a number, or the first of them; null when there are none. */
  after(run: number, number: number): Messages | null {
    if (number >= this.index.lastEvent(run)) return null;
    const kept = this.#kept.get(run);
    if (kept?.after === number) return kept;
    const found = eventsAfter(this.index.database, run, number, MOST);
    if (found.length === 0) return null;
    const text = found.map(({ number, line }) => `id: ${number}\ndata: ${line}\n\n`).join("");
    const bytes = new TextEncoder().encode(text);
    const messages = { after: number, last: found[found.length - 1].number, bytes };
    this.#kept.set(run, messages);
    return messages;
  }
}
