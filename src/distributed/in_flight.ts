/** Messages on their way: so many at a time that the next ones are made ready meanwhile. */
export class InFlight {
  readonly #under: Promise<void>[] = [];

  /** @param most transfers that have begun and not ended */
  constructor(private readonly most: number) {}

  /**
   * Begins a transfer once there is room for it.
   *
   * @throws what an earlier one threw
   */
  async begin(transfer: () => Promise<void>): Promise<void> {
    while (this.#under.length >= this.most) await this.#under.shift();
    const begun = transfer();
    // Failures show where the transfer is awaited; once one has shown, the others' need not.
    begun.catch(() => {});
    this.#under.push(begun);
  }

  /** Waits for all that has begun. */
  async end(): Promise<void> {
    await Promise.all(this.#under.splice(0));
  }
}
