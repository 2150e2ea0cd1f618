/** Trying again what may succeed later. */

import { UserError } from "../base/user_error.ts";

/** A request failed in a way that may pass: the server is busy, the connection broke. */
export class TemporaryFailure extends Error {
  override name = "TemporaryFailure";

  /**
   * @param message what happened, to follow the name of what was asked for
   * @param retryAfter seconds that the server wants one to wait; null when it does not say
   * @param hasProgressed whether bytes arrived: then patience begins anew
   */
  constructor(
    message: string,
    readonly retryAfter: number | null = null,
    readonly hasProgressed = false,
  ) {
    super(message);
  }
}

/** How patient to be; tests put their own here. */
export interface Patience {
  /** Waits; rejects when the user stops it. */
  pause(seconds: number): Promise<void>;
  /** Tells the user that `what` failed and is tried again after a pause. */
  onRetry(message: string): void;
}

/** Seconds before each new attempt; after the last one the failure stands. */
const PAUSES = [1, 2, 4, 8, 16] as const;
const LONGEST_PAUSE = 60;

/**
 * Does `attempt` until it succeeds or has failed six times in a row without a byte arriving.
 *
 * @param what named in messages
 * @throws UserError when the attempts are used up
 */
export async function withRetries<T>(
  what: string,
  patience: Patience,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let failures = 0;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof TemporaryFailure)) throw error;
      failures = error.hasProgressed ? 1 : failures + 1;
      if (failures > PAUSES.length) {
        throw new UserError(
          `${what}: ${error.message}, ${failures} times in a row. Run the same command later; ` +
            `it goes on where this one stopped.`,
        );
      }
      const pause = Math.min(
        Math.max(PAUSES[failures - 1], error.retryAfter ?? 0),
        LONGEST_PAUSE,
      );
      patience.onRetry(`${what}: ${error.message}; trying again in ${pause} s`);
      await patience.pause(pause);
    }
  }
}

/** Waits by the clock, unless `signal` stops it. */
export function pauseByClock(seconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, seconds * 1000);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}
