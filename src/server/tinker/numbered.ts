import { createHash } from "node:crypto";
import { count, name, type Tinker } from "./api.ts";
import type { FutureResult } from "./futures.ts";
import type { Session, SessionModel } from "./sessions.ts";

/** Tells two requests apart. */
export const digest = (content: object | Uint8Array): string =>
  createHash("sha256")
    .update(content instanceof Uint8Array ? content : JSON.stringify(content))
    .digest("hex");

/** What every numbered request of a model says. */
export const numbering = { model_id: name, seq_id: count };

/** Which model, and its how manieth request. */
export interface Numbering {
  readonly model_id: string;
  readonly seq_id: number;
}

/**
 * Takes a request that is done after those of its model with lower numbers.
 *
 * @param content what tells it apart
 * @param run sends what it has to before it first waits, or what comes later could come between
 * @throws RequestProblem when there is no such model, or another request had the number
 */
export function takeNumbered(
  { sessions }: Tinker,
  { model_id, seq_id }: Numbering,
  content: object | Uint8Array,
  run: (model: SessionModel, session: Session) => Promise<FutureResult>,
): { readonly request_id: string } {
  const { session, model } = sessions.model(model_id);
  const bytes = content instanceof Uint8Array ? content.length : 0;
  const begin = () => run(model, session);
  return { request_id: model.ordered.submit(seq_id, digest(content), bytes, begin) };
}
