import { collectGarbage } from "./collect_garbage.ts";

/** A look at the GPU comes later than its answer by this share of the wait at most. */
const share = 1 / 64;
/** Milliseconds at a wait's beginning in which a GPU that is no CPU is looked at without a pause. */
const eagerMs = 0.2;
/** Milliseconds between two looks, after that, at least and at most. */
const shortestMs = 0.05;
const longestMs = 10;
/** Longer pauses are timers, which let the process do other things meanwhile. */
const longestSleepMs = 1;
/** Looks after which what they left behind is collected. */
const looksPerCollection = 8192;

/**
 * When to look at Dawn's GPUs. dawn.node asks for the next look as soon as one has ended, through `setImmediate` and with
 * a function made for it, and that is dear: looks without a pause take a core from a software driver, and Deno keeps
 * every such function in a list that it searches for each one which the collector finds. (A wait of two minutes with
 * 3,000 looks a second was followed by more than six of searching.) So pauses grow with the wait, and functions are
 * collected before they are many.
 */
export class DawnPolling {
  /** Whether the GPU runs on this machine's cores, which looking takes from it. */
  isOnCpu = true;
  /** When the wait began, in milliseconds of `performance.now`. */
  #since = 0;
  #looks = 0;
  /** Looks that a timer will take, with their timers. */
  readonly #timed = new Map<() => void, ReturnType<typeof setTimeout>>();

  /**
   * @param soon calls after the event loop's turn
   * @param collect the functions of former looks
   */
  constructor(
    private readonly soon: (call: () => void) => unknown,
    private readonly collect: () => void,
  ) {}

  /** Something was asked of the GPU just now. */
  waitBegins(): void {
    this.#since = performance.now();
    for (const [look, timer] of this.#timed) {
      clearTimeout(timer);
      this.#sleep(look);
    }
    this.#timed.clear();
  }

  /** Calls when it is time to look again. */
  later(callback: () => void): void {
    const look = () => {
      this.#timed.delete(look);
      this.#looks++;
      if (this.#looks % looksPerCollection === 0) this.collect();
      callback();
    };
    const pause = this.#pause();
    if (pause <= longestSleepMs) this.#sleep(look);
    else this.#timed.set(look, setTimeout(look, pause));
  }

  #sleep(look: () => void): void {
    const pause = Math.min(longestSleepMs, this.#pause());
    this.soon(() => {
      if (pause > 0) Atomics.wait(cell, 0, 0, pause);
      look();
    });
  }

  /** Milliseconds until the next look. */
  #pause(): number {
    const waited = performance.now() - this.#since;
    if (!this.isOnCpu && waited < eagerMs) return 0;
    return Math.min(longestMs, Math.max(shortestMs, waited * share));
  }
}

/** A cell to sleep on; nothing ever wakes the sleeper before its time. */
const cell = new Int32Array(new SharedArrayBuffer(4));

/** The polling of this process, which looks at all its Dawn devices together. */
export const dawnPolling = new DawnPolling(globalThis.setImmediate, collectGarbage);

/** Has dawn.node look at its GPUs when `dawnPolling` says. It takes `setImmediate` from the global object. */
export function paceDawnPolling(): void {
  const setImmediate = (callback: (...args: unknown[]) => void, ...args: unknown[]) =>
    dawnPolling.later(() => callback(...args));
  Object.assign(globalThis, { setImmediate });
}
