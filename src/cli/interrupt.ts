/** Ctrl-C: the first asks the run to finish its step and save, the second ends the process at once. */

/** Exit status of a run that Ctrl-C ended; also what a shell reports for a process it killed. */
export const INTERRUPTED_EXIT_CODE = 130;

/** Sent to a process group, one signal arrives twice: directly and forwarded by `deno task`. */
const SAME_SIGNAL_MS = 200;

/** Listens for Ctrl-C while something is going. End it with `using` or by disposing of it. */
export class Interrupt implements Disposable {
  private requested = false;
  private isListening = true;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly listener = () => this.onSignal();

  /**
   * @param onFirst called at the first Ctrl-C, to ask for the end and tell the user what happens now
   * @param signals that are taken for Ctrl-C
   */
  constructor(
    private readonly onFirst: () => void,
    private readonly signals: readonly Deno.Signal[] = ["SIGINT"],
  ) {
    for (const signal of signals) Deno.addSignalListener(signal, this.listener);
  }

  /** Stops listening: Ctrl-C then ends the process, as it does by default. */
  [Symbol.dispose](): void {
    clearTimeout(this.timer);
    if (this.isListening) {
      for (const signal of this.signals) Deno.removeSignalListener(signal, this.listener);
    }
    this.isListening = false;
  }

  private onSignal(): void {
    if (this.requested) return;
    this.requested = true;
    this.onFirst();
    // With the listener gone the next Ctrl-C kills the process, even one that never reaches its event loop.
    const timer = setTimeout(() => this[Symbol.dispose](), SAME_SIGNAL_MS);
    Deno.unrefTimer(timer);
    this.timer = timer;
  }
}
