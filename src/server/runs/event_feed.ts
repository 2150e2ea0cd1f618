/** How long those who follow a run wait for more at least, for each of them: what they cost together stays the same. */
const REST_MS = 4;

/** Wakes those who follow a run's events: at once after a silence, and else the sooner the fewer they are. */
export class EventFeed implements Disposable {
  readonly #followers = new Map<string, Set<() => void>>();
  readonly #due = new Map<string, ReturnType<typeof setTimeout>>();
  /** When followers were woken last. */
  readonly #woken = new Map<string, number>();

  /** @returns what ends it */
  follow(run: string, wake: () => void): () => void {
    const followers = this.#followers.getOrInsertComputed(run, () => new Set());
    followers.add(wake);
    return () => {
      followers.delete(wake);
      if (followers.size === 0 && this.#followers.get(run) === followers) this.#forget(run);
    };
  }

  /** A run told something, or is gone. */
  tell(run: string): void {
    const followers = this.#followers.get(run);
    if (!followers || this.#due.has(run)) return;
    const rested = performance.now() - (this.#woken.get(run) ?? -Infinity);
    const wait = Math.max(0, followers.size * REST_MS - rested);
    this.#due.set(run, setTimeout(() => this.#wake(run), wait));
  }

  #wake(run: string): void {
    this.#due.delete(run);
    this.#woken.set(run, performance.now());
    for (const wake of [...this.#followers.get(run) ?? []]) {
      try {
        wake();
      } catch (error) {
        console.error(error); // the others are woken all the same
      }
    }
  }

  #forget(run: string): void {
    clearTimeout(this.#due.get(run));
    this.#due.delete(run);
    this.#woken.delete(run);
    this.#followers.delete(run);
  }

  /** Wakes all a last time, so that they see the end. */
  [Symbol.dispose](): void {
    for (const run of [...this.#followers.keys()]) {
      this.#wake(run);
      this.#forget(run);
    }
  }
}
