import { clearImmediate, setImmediate } from "node:timers";

/** Something that is looked at again and again until it is done. */
export interface Pending {
  /**
   * Looks at the transfer: `moved` says that some of it is through.
   *
   * @throws whatever ends all waiting
   */
  poll(): "still" | "moved" | "done";
  /** The error that ends all waiting when this is not done in so many milliseconds. */
  overdue(timeLimit: number): Error;
}

/**
 * How long after something has moved the next look comes as soon as the event loop has been round, which a message on
 * its way needs: a library carries it on only while it is looked at.
 */
const AT_ONCE_MS = 2;
/** How long after that the next look comes with the next tick of a timer. */
const SOON_MS = 20;
/** Pause between two looks later on: a waiting process leaves the processor to the others. */
const PAUSE_MS = 2;
/** A longer gap between two looks is this process's own doing, and counts no further against the others. */
const LONGEST_GAP_MS = 1000;

interface Waiting {
  readonly pending: Pending;
  /** In milliseconds, counted from when it was begun. */
  readonly timeLimit: number;
  readonly begun: number;
  resolve(): void;
  reject(error: unknown): void;
}

/** Waits for many things at once without blocking. The first that fails or is overdue ends them all, and all later ones. */
export class Poller {
  readonly #waiting = new Set<Waiting>();
  #failure: Error | null = null;
  /** Calls off the next look. */
  #cancel = () => {};
  /** Milliseconds that were spent polling, and when they were last counted. */
  #time = 0;
  #counted = performance.now();
  #lastMove = 0;

  /** @param timeLimit milliseconds that what begins now may take */
  constructor(private readonly timeLimit: () => number) {}

  /**
   * Begins something and returns when it is done.
   *
   * @param begin begins it; may throw what ends all waiting
   */
  wait(begin: () => Pending): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    // A caller that waits for several things hears of a failure from one of them.
    promise.catch(() => {});
    if (this.#failure) {
      reject(this.#failure);
      return promise;
    }
    try {
      const timeLimit = this.timeLimit();
      const waiting = { pending: begin(), timeLimit, begun: this.#now(), resolve, reject };
      this.#waiting.add(waiting);
      this.#lastMove = this.#time;
      this.#look([waiting]);
    } catch (error) {
      this.#end(error);
      reject(error);
    }
    return promise;
  }

  #look(at: Iterable<Waiting>): void {
    const time = this.#now();
    try {
      for (const waiting of at) {
        const found = waiting.pending.poll();
        if (found !== "still") this.#lastMove = time;
        if (found === "done") {
          this.#waiting.delete(waiting);
          waiting.resolve();
        } else if (time - waiting.begun > waiting.timeLimit) {
          throw waiting.pending.overdue(waiting.timeLimit);
        }
      }
    } catch (error) {
      this.#end(error);
    }
    this.#cancel();
    if (this.#waiting.size === 0) return;
    const quiet = time - this.#lastMove;
    const again = () => this.#look(this.#waiting);
    if (quiet < AT_ONCE_MS) {
      const next = setImmediate(again);
      this.#cancel = () => clearImmediate(next);
    } else {
      const next = setTimeout(again, quiet < SOON_MS ? 0 : PAUSE_MS);
      this.#cancel = () => clearTimeout(next);
    }
  }

  #end(error: unknown): void {
    this.#failure = error instanceof Error ? error : new Error(`${error}`);
    for (const { reject } of this.#waiting) reject(this.#failure);
    this.#waiting.clear();
  }

  #now(): number {
    const now = performance.now();
    this.#time += Math.min(now - this.#counted, LONGEST_GAP_MS);
    this.#counted = now;
    return this.#time;
  }
}
