import { askRun } from "../../run/control/endpoint/ask_run.ts";
import type { RunMemory } from "../../run/control/endpoint/control_request.ts";
import type { ListedRun, RunList } from "./run_list.ts";

/** How often a run is asked. */
const ASK_MS = 1000;
/** It answers between two steps. */
const ANSWER_MS = 60_000;

/** The memory that runs take at present: what they say themselves, time and again. */
export class LiveMemory implements Disposable {
  readonly #said = new Map<string, RunMemory>();
  readonly #asked = new Set<string>();
  readonly #asking: ReturnType<typeof setInterval>;
  readonly #ending = new AbortController();

  constructor(private readonly list: RunList) {
    this.#asking = setInterval(() => this.#askAll(), ASK_MS);
  }

  /** What a run said last; null of one that does not go on, or has not answered yet. */
  of(name: string): RunMemory | null {
    return this.#said.get(name) ?? null;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#asking);
    this.#ending.abort();
  }

  #askAll(): void {
    for (const run of this.list.all) {
      // Runs of a comparison are in its process.
      if (run.comparison !== null) continue;
      if (run.live === null) {
        this.#said.delete(run.name);
        this.#asked.delete(run.name);
      } else if (!this.#asked.has(run.name)) {
        // It stays one that was asked: the same error once a second would say no more.
        this.#ask(run).catch((error) => console.error(`${run.name} cannot be asked:`, error));
      }
    }
  }

  async #ask({ name, live }: ListedRun): Promise<void> {
    if (live === null) return;
    this.#asked.add(name);
    const signal = AbortSignal.any([this.#ending.signal, AbortSignal.timeout(ANSWER_MS)]);
    const answer = await askRun(live, { request: "status" }, signal);
    this.#asked.delete(name);
    if (answer?.ok) this.#said.set(name, answer.status.memory);
  }
}
