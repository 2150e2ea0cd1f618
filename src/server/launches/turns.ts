interface Waiting {
  readonly begin: () => void;
}

/** Lets one thing be done at a time. */
export class Turns {
  readonly #waiting: Waiting[] = [];
  #isTaken = false;

  /**
   * Does it when it is its turn.
   *
   * @param isFirst before all that wait
   * @param signal ends the waiting: what is thrown then is its reason
   */
  async take<Result>(
    work: () => Promise<Result>,
    { isFirst = false, signal }: { readonly isFirst?: boolean; readonly signal?: AbortSignal },
  ): Promise<Result> {
    signal?.throwIfAborted();
    if (this.#isTaken) await this.#wait(isFirst, signal);
    this.#isTaken = true;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#isTaken = false;
      else next.begin();
    }
  }

  async #wait(isFirst: boolean, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = { begin: resolve };
    if (isFirst) this.#waiting.unshift(waiting);
    else this.#waiting.push(waiting);
    const leave = () => {
      const place = this.#waiting.indexOf(waiting);
      if (place < 0) return; // it is its turn
      this.#waiting.splice(place, 1);
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", leave);
    try {
      await promise;
    } finally {
      signal?.removeEventListener("abort", leave);
    }
  }
}
