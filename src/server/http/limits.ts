/** How much is asked at once. */

import { problemResponse } from "./problem.ts";

/** A bucket of permissions that fills up evenly. */
export class RateLimit {
  #left: number;
  #time = performance.now();

  /** @param perSecond as many at once, and so many more each second */
  constructor(private readonly perSecond: number) {
    this.#left = perSecond;
  }

  /** Takes a permission, unless there is none left. */
  take(): boolean {
    const now = performance.now();
    this.#left = Math.min(
      this.perSecond,
      this.#left + (now - this.#time) / 1000 * this.perSecond,
    );
    this.#time = now;
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }
}

/** Requests of a second; those that change something are fewer. */
export const RATES = { reads: 2000, changes: 50 } as const;
/** Event streams at a time. */
export const MOST_WATCHERS = 1000;

/** Too many requests: which is over in a second. */
export function tooMany(what: string): Response {
  return problemResponse(429, `Too many ${what}; try again in a second.`, undefined, {
    "retry-after": "1",
  });
}
