import type { Gpu } from "../../gpu/gpu.ts";
import type { KernelTime } from "../../gpu/kernel_times.ts";
import type { RunEvent } from "../events/run_event.ts";
import { now, type Span } from "./span.ts";

/** Training steps, both ends among them. */
export interface StepRange {
  readonly first: number;
  readonly last: number;
}

/** Times every launch of some steps and puts it on the timeline. */
export class KernelActivity implements Disposable {
  #isListening = false;
  #times: KernelTime[] = [];
  /**
   * Milliseconds from the GPU's clock to the host's. The host learns of a launch's end a little after it, so the
   * least difference ever seen is the one.
   */
  #offset = Infinity;

  constructor(
    private readonly gpu: Pick<Gpu, "listenToKernels">,
    private readonly steps: StepRange,
    private readonly clock: () => number = now,
  ) {}

  /**
   * Hears an event. @returns the launches of a step that is over
   *
   * @throws UserError when the GPU cannot time launches
   */
  hear(event: RunEvent): Span[] {
    if (event.type === "phaseBegan") this.#listen(this.#isWanted(event.step));
    if (event.type !== "step") return [];
    const times = this.#times;
    this.#times = [];
    const moment = (nanoseconds: number) => nanoseconds / 1e6 + this.#offset;
    return times.map(({ label, begin, end }) => ({
      track: "kernels",
      name: label,
      begin: moment(begin),
      end: moment(end),
    }));
  }

  #isWanted(step: number): boolean {
    return step >= this.steps.first && step <= this.steps.last;
  }

  #listen(isListening: boolean): void {
    if (isListening === this.#isListening) return;
    this.#isListening = isListening;
    this.gpu.listenToKernels(isListening ? (times) => this.#take(times) : null);
  }

  #take(times: readonly KernelTime[]): void {
    const last = times.reduce((latest, { end }) => Math.max(latest, end), -Infinity);
    this.#offset = Math.min(this.#offset, this.clock() - last / 1e6);
    for (const time of times) this.#times.push(time);
  }

  [Symbol.dispose](): void {
    this.#listen(false);
  }
}
