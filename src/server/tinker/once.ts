import { RequestProblem } from "../http/problem.ts";
import type { Session } from "./sessions.ts";

/** A request that was answered so long ago is not sent again, in milliseconds. */
const KEPT_MS = 10 * 60_000;

/**
 * Answers a request that a client may send again, its connection having been lost: with what it was answered before.
 *
 * @param key names the request within its session
 * @param content tells two requests apart
 * @throws RequestProblem when another request had the name
 */
export function once<Answer extends object>(
  session: Session,
  key: string,
  content: string,
  answer: () => Answer,
): Answer {
  const known = session.once.get(key);
  if (known && known.content !== content) {
    throw new RequestProblem(409, `${key} was another request before.`);
  }
  if (known) return known.answer as Answer;
  const made = answer();
  const now = performance.now();
  for (const [old, { time }] of session.once) {
    if (now - time <= KEPT_MS) break;
    session.once.delete(old);
  }
  session.once.set(key, { content, answer: made, time: now });
  return made;
}
