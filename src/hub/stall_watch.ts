const LONGEST_SILENCE_MS = 60_000;

/** Ends a request when nothing has arrived for a minute, or when `outer` ends it. */
export class StallWatch {
  readonly signal: AbortSignal;
  private readonly controller = new AbortController();
  private timer: ReturnType<typeof setTimeout>;
  private readonly onOuter = () => this.controller.abort(this.outer.reason);

  constructor(readonly outer: AbortSignal) {
    this.signal = this.controller.signal;
    this.timer = this.start();
    if (outer.aborted) this.onOuter();
    else outer.addEventListener("abort", this.onOuter);
  }

  /** Tells that something arrived. */
  touch(): void {
    clearTimeout(this.timer);
    this.timer = this.start();
  }

  /** Ends the watch. */
  stop(): void {
    clearTimeout(this.timer);
    this.outer.removeEventListener("abort", this.onOuter);
  }

  private start(): ReturnType<typeof setTimeout> {
    return setTimeout(
      () => this.controller.abort(new Error("nothing arrived for a minute")),
      LONGEST_SILENCE_MS,
    );
  }
}
