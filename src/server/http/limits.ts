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
/** Bytes of a request's body. */
const LARGEST_BODY = 1 << 20;
/** Until it is here. */
const LONGEST_BODY_MS = 10_000;
/** Event streams at a time. */
export const MOST_WATCHERS = 1000;

/**
 * Refuses a body that is too large, does not say how large it is, or is no JSON: what a form or a script of any page
 * can send without asking is none. Null: it may be read.
 */
export function refuseBody({ headers, method }: Request): Response | null {
  const length = headers.get("content-length");
  if (length === null && headers.has("transfer-encoding")) {
    return problemResponse(411, "A request with a body says its length.");
  }
  if (Number(length) > LARGEST_BODY) {
    return problemResponse(413, `A request has at most ${LARGEST_BODY} bytes.`);
  }
  if (method !== "POST" || isJson(headers.get("content-type"), length)) return null;
  return problemResponse(415, "Send a body as application/json.");
}

/** Whether a type is JSON's; none needs to be said where nothing is sent. */
function isJson(type: string | null, length: string | null): boolean {
  if (type === null) return Number(length) === 0;
  return type.split(";")[0].trim().toLowerCase() === "application/json";
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
