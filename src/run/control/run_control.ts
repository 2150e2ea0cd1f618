/** What a run is asked from outside. It obeys between two steps. */
export class RunControl {
  #isStopRequested = false;
  #isSaveRequested = false;
  #isPaused = false;
  #wake: (() => void) | null = null;

  /** Ends the run after the present step, with a checkpoint. */
  stop(): void {
    this.#isStopRequested = true;
    this.#wake?.();
  }

  /** Writes a checkpoint after the present step. */
  save(): void {
    this.#isSaveRequested = true;
    this.#wake?.();
  }

  /** Lets the run wait after the present step. The GPU then has nothing to do. */
  pause(): void {
    this.#isPaused = true;
  }

  /** Lets a paused run go on. */
  goOn(): void {
    this.#isPaused = false;
    this.#wake?.();
  }

  /** Whether the run is to end. */
  get isStopRequested(): boolean {
    return this.#isStopRequested;
  }

  /** Whether the run is to wait. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Whether a checkpoint was asked for since this was last called. */
  takeSave(): boolean {
    const isRequested = this.#isSaveRequested;
    this.#isSaveRequested = false;
    return isRequested;
  }

  /**
   * Waits one turn of the event loop: a step may keep the thread busy from end to end, and signals and
   * requests are only delivered in between.
   */
  async arrivals(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 0));
  }

  /** Waits until something is asked; the process does not end meanwhile. */
  async nextRequest(): Promise<void> {
    const keepAlive = setInterval(() => {}, 2 ** 30);
    try {
      await new Promise<void>((resolve) => this.#wake = resolve);
    } finally {
      this.#wake = null;
      clearInterval(keepAlive);
    }
  }
}
