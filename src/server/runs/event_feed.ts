/** Wakes those who follow a run's events, or anything else of it. */
export class EventFeed {
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Something of a run is new. */
  tell(run: string): void {
    const waiting = this.#waiting.get(run);
    this.#waiting.delete(run);
    for (const wake of waiting ?? []) wake();
  }

  /** Waits until something is new, at most so long, or until the signal. */
  async next(run: string, milliseconds: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    let waiting = this.#waiting.get(run);
    if (!waiting) this.#waiting.set(run, waiting = new Set());
    waiting.add(resolve);
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => resolve(), { once: true });
    await promise;
    clearTimeout(timer);
    waiting.delete(resolve);
  }
}
