import type { Reach } from "./reach.ts";

/** The pages of a reach's cache: which nobody has, and which nobody uses though what they hold may be asked for again. */
export class PagePool<Place extends { readonly page: number }> {
  readonly #free: number[];
  /** The longest unused first. */
  readonly #idle = new Set<Place>();
  /** As `#idle`, and less likely to be asked for. */
  readonly #passed = new Set<Place>();

  constructor(readonly reach: Reach, readonly pages: number) {
    this.#free = Array.from({ length: pages }, (_, page) => pages - 1 - page);
  }

  /** Pages that can be had. */
  get available(): number {
    return this.#free.length + this.#passed.size + this.#idle.size;
  }

  /**
   * A page for new tokens.
   *
   * @param forget is told the place whose page it was, if what it holds could have been asked for until now
   * @throws Error when none is available: callers ask first
   */
  take(forget: (place: Place) => void): number {
    const free = this.#free.pop();
    if (free !== undefined) return free;
    for (const places of [this.#passed, this.#idle]) {
      const [oldest] = places;
      if (!oldest) continue;
      places.delete(oldest);
      forget(oldest);
      return oldest.page;
    }
    throw new Error("the cache has no page left");
  }

  /** Nobody uses a place any more, and what it holds stays until the room is needed. */
  keep(place: Place, isPassed: boolean): void {
    (isPassed ? this.#passed : this.#idle).add(place);
  }

  /** Somebody uses a place again that was kept. */
  use(place: Place): void {
    this.#passed.delete(place);
    this.#idle.delete(place);
  }

  /** What a place holds, which nobody uses, is not asked for any more. */
  free(place: Place): void {
    this.use(place);
    this.#free.push(place.page);
  }
}
