import type { RunEvent } from "../events/run_event.ts";
import { type Moment, now, type Span } from "./span.ts";

/** Turns what a run tells into spans: its steps, and within them their phases. */
export class RunActivity {
  /** Phases that have begun, the innermost last. */
  #open: { readonly name: string; readonly begin: number; readonly step: number }[] = [];
  /** When the present step began; null between steps. */
  #stepBegan: number | null = null;
  #pauseBegan = 0;

  /** @param clock see `now` */
  constructor(private readonly clock: () => number = now) {}

  /** Hears an event. @returns what is over with it */
  hear(event: RunEvent): (Span | Moment)[] {
    const end = this.clock();
    switch (event.type) {
      case "phaseBegan": {
        const { phase: name, step } = event;
        this.#open.push({ name, begin: end, step });
        if (name !== "evaluation" && name !== "checkpoint") this.#stepBegan ??= end;
        return [];
      }
      case "phaseEnded":
        return this.#end(end, 1);
      case "step": {
        const { step, phase, timings } = event;
        const begin = this.#stepBegan ?? end;
        this.#stepBegan = null;
        const facts = { step, ...timings };
        return [{ track: "run", name: `${phase} step`, begin, end, facts }];
      }
      case "paused":
        this.#pauseBegan = end;
        return [];
      case "continued":
        return [{ track: "run", name: "paused", begin: this.#pauseBegan, end }];
      case "warning":
        return [{ track: "run", name: "warning", begin: end, facts: { message: event.message } }];
      case "failed": {
        // The phase under way is the one that failed.
        const message = event.error instanceof Error ? event.error.message : String(event.error);
        const failed: Moment = { track: "run", name: "failed", begin: end, facts: { message } };
        return [...this.#end(end, this.#open.length), failed];
      }
      default:
        return [];
    }
  }

  /** Ends the innermost phases. */
  #end(end: number, count: number): Span[] {
    const ended = this.#open.splice(this.#open.length - count, count).reverse();
    return ended.map(({ name, begin, step }) => ({
      track: "run",
      name: spoken(name),
      begin,
      end,
      phaseOf: step,
      facts: { step },
    }));
  }
}

/** `forward_backward` as the field says it. */
const spoken = (name: string) => name.replace("_", "-");
