/** Ctrl-C and its like: the first asks the run to finish its step and save, the second ends the process at once. */

import { outlivesTerminal } from "./hang_up.ts";

/** Exit status of a run that Ctrl-C ended; also what a shell reports for a process it killed. */
export const INTERRUPTED_EXIT_CODE = 130;

/** What asks a process to end, and its exit status then: containers and systemd send SIGTERM, a lost terminal SIGHUP. */
export const INTERRUPTS = { SIGINT: INTERRUPTED_EXIT_CODE, SIGTERM: 143, SIGHUP: 129 } as const;

/** One of them. */
export type InterruptSignal = keyof typeof INTERRUPTS;

/** Sent to a process group, one signal arrives twice: directly and forwarded by `deno task`. */
const SAME_SIGNAL_MS = 200;

/** Listens for what asks this process to end while something is going. End it with `using` or by disposing of it. */
export class Interrupt implements Disposable {
  #received: InterruptSignal | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #listeners: Map<InterruptSignal, () => void>;

  /**
   * @param onFirst called at the first signal, to ask for the end and tell the user what happens now
   * @param signals those that are listened for
   */
  constructor(
    private readonly onFirst: (signal: InterruptSignal) => void,
    signals = Object.keys(INTERRUPTS) as readonly InterruptSignal[],
  ) {
    const listenerFor = (signal: InterruptSignal) =>
      signal === "SIGHUP" && outlivesTerminal() ? () => {} : () => this.#hear(signal);
    this.#listeners = new Map(signals.map((signal) => [signal, listenerFor(signal)]));
    for (const [signal, listener] of this.#listeners) Deno.addSignalListener(signal, listener);
  }

  /** Exit status of what has ended early: by the signal that was heard, or as by Ctrl-C. */
  get exitCode(): number {
    return INTERRUPTS[this.#received ?? "SIGINT"];
  }

  /** Stops listening: the signals then end the process, as they do by default. */
  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    for (const [signal, listener] of this.#listeners) Deno.removeSignalListener(signal, listener);
    this.#listeners.clear();
  }

  #hear(signal: InterruptSignal): void {
    if (this.#received !== null) return;
    this.#received = signal;
    this.onFirst(signal);
    // With the listeners gone the next signal kills the process, even one that never reaches its event loop.
    this.#timer = setTimeout(() => this[Symbol.dispose](), SAME_SIGNAL_MS);
    Deno.unrefTimer(this.#timer);
  }
}
