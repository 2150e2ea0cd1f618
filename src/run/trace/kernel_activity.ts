import type { GpuActivity } from "../../gpu/activity.ts";
import type { KernelTime } from "../../gpu/kernel_times.ts";
import type { RunEvent } from "../events/run_event.ts";
import { now, type Span } from "./span.ts";

/** Training steps, both ends among them. */
export interface StepRange {
  readonly first: number;
  readonly last: number;
}

/** When the host learnt that a launch had ended, and when it had by the GPU's clock. */
interface ClockPair {
  readonly host: number;
  readonly gpu: number;
}

/** A GPU's clock ticks in nanoseconds, unless its engine hands out the device's own ticks. */
const NANOSECOND = 1e-6;

/** Times every launch of some steps and puts it on the timeline. */
export class KernelActivity implements Disposable {
  #isListening = false;
  #times: KernelTime[] = [];
  #clocks: ClockPair[] = [];

  constructor(
    private readonly activity: Pick<GpuActivity, "listenToKernels">,
    private readonly steps: StepRange,
    private readonly clock: () => number = now,
  ) {}

  /**
   * Hears an event. @returns the launches of a step that is over
   *
   * @throws UserError when the GPU cannot time launches
   */
  hear(event: RunEvent): Span[] {
    if (event.type === "phaseBegan") {
      const isTraining = event.phase !== "evaluation" && event.phase !== "checkpoint";
      this.#listen(isTraining && event.step >= this.steps.first && event.step <= this.steps.last);
    }
    if (event.type !== "step") return [];
    const moment = hostTime(this.#clocks.splice(0));
    return this.#times.splice(0).map(({ label, begin, end }) => ({
      track: "kernels",
      name: label,
      begin: moment(begin),
      end: moment(end),
    }));
  }

  #listen(isListening: boolean): void {
    if (isListening === this.#isListening) return;
    this.#isListening = isListening;
    this.activity.listenToKernels(isListening ? (times) => this.#take(times) : null);
  }

  #take(times: readonly KernelTime[]): void {
    const gpu = times.reduce((latest, { end }) => Math.max(latest, end), -Infinity);
    this.#clocks.push({ host: this.clock(), gpu });
    for (const time of times) this.#times.push(time);
  }

  [Symbol.dispose](): void {
    this.#listen(false);
  }
}

/**
 * The host's time, in milliseconds, of a tick of the GPU's clock. How long a tick is shows between the first and
 * the last pair. The host learns of an end a little after it, so that the least difference ever seen is the one.
 */
function hostTime(clocks: readonly ClockPair[]): (tick: number) => number {
  const [first, last] = [clocks[0], clocks[clocks.length - 1]];
  const measured = clocks.length < 2
    ? NANOSECOND
    : (last.host - first.host) / (last.gpu - first.gpu);
  const isNanosecond = Math.abs(measured / NANOSECOND - 1) < 0.2;
  const tick = isNanosecond ? NANOSECOND : measured;
  const offset = clocks.reduce(
    (least, { host, gpu }) => Math.min(least, host - gpu * tick),
    Infinity,
  );
  return (ticks) => ticks * tick + offset;
}
