/** How much is asked at once. */

import type { HonoRequest } from "hono";
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
/** Bytes of a request's body: about a run, or with prompts for a model. */
export const LARGEST_BODY = { ofRuns: 1 << 20, ofModels: 1 << 25 } as const;
/** Until it is here. */
const LONGEST_BODY_MS = 10_000;
/** Event streams at a time. */
export const MOST_WATCHERS = 1000;

/** A type that a body is expected to be of, and what to do where it is not. */
export interface ExpectedType {
  readonly type: string;
  readonly advice?: string;
}

/**
 * Refuses a body that is too large, does not say how large it is, or is of another type: what a form or a script of any
 * page can send without asking is none of those that are expected. Null: it may be read.
 *
 * @param largest bytes
 */
export function refuseBody(
  { headers, method }: Request,
  largest: number,
  { type: expected, advice }: ExpectedType = { type: "application/json" },
): Response | null {
  const length = headers.get("content-length");
  if (length === null && headers.has("transfer-encoding")) {
    return problemResponse(411, "A request with a body says its length.");
  }
  if (Number(length) > largest) {
    return problemResponse(413, `A request has at most ${largest} bytes.`);
  }
  if (method !== "POST" || isOfType(headers.get("content-type"), expected, length)) return null;
  return problemResponse(415, `Send a body as ${expected}.${advice ? ` ${advice}` : ""}`);
}

/** Whether a type is the one that is expected; none needs to be said where nothing is sent. */
function isOfType(type: string | null, expected: string, length: string | null): boolean {
  if (type === null) return Number(length) === 0;
  return type.split(";")[0].trim().toLowerCase() === expected;
}

/** Waits for a whole body, which the routes find read then; false when it does not come in time. */
export async function isRead(request: HonoRequest): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), LONGEST_BODY_MS);
  // Who hangs up in the middle hears no answer.
  const body = request.arrayBuffer().then(() => true, () => false);
  try {
    return await Promise.race([body, promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** The answer when it does not. */
export function tooSlow(): Response {
  return problemResponse(408, `A request is here within ${LONGEST_BODY_MS / 1000} s.`);
}

/** Too many requests: which is over in a second. */
export function tooMany(what: string): Response {
  return problemResponse(429, `Too many ${what}; try again in a second.`, undefined, {
    "retry-after": "1",
  });
}
