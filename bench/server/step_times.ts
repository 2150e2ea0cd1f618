import { readJsonLines } from "../../src/run/store/json_lines_log.ts";

/** What is read of an event. */
interface ToldStep {
  readonly step: number;
  readonly type: string;
  readonly time: string;
}
import type { RunFolder } from "../../src/run/store/run_folder.ts";

/** How long the steps of a run took, by its own events. */
export class StepTimes {
  constructor(private readonly folder: RunFolder) {}

  /** Events that the run told. */
  get events(): number {
    return this.#lines().length;
  }

  get count(): number {
    return this.#times().length;
  }

  /** Mean seconds of the steps that began and ended between two times, ms since 1970; NaN without any. */
  mean(from: number, to: number): number {
    const times = this.#times().filter((time) => time >= from && time <= to);
    return (times[times.length - 1] - times[0]) / 1000 / (times.length - 1);
  }

  /** When each step was done. */
  #times(): number[] {
    return this.#lines().filter(({ type }) => type === "step").map(({ time }) => Date.parse(time));
  }

  #lines(): ToldStep[] {
    try {
      return readJsonLines<ToldStep>(this.folder.events);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return []; // it has only begun
      throw error;
    }
  }
}
