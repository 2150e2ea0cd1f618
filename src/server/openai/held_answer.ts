/** Answers that take long. */

import { within } from "../../base/within.ts";

/** Until the answer begins. */
const FIRST_MS = 1000;
/** Between two signs of life. */
const NEXT_MS = 1000;

/**
 * An answer in JSON that is waited for, whose sender learns when nobody waits any more.
 *
 * Deno does not tell of a client that has hung up when its request was long, before something is written. So an
 * answer that takes longer than a second begins with spaces, one a second, which JSON allows. What fails after that
 * breaks the connection.
 *
 * @param cancel called when nobody waits any more
 * @throws what the answer is rejected with, before anything is written
 */
export async function heldAnswer(answer: Promise<object>, cancel: () => void): Promise<Response> {
  const encoder = new TextEncoder();
  const early = await within(answer, FIRST_MS);
  if (early !== null) return Response.json(early);
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const answered = await within(answer, NEXT_MS);
      controller.enqueue(encoder.encode(answered === null ? " " : JSON.stringify(answered)));
      if (answered !== null) controller.close();
    },
    cancel,
  }, { highWaterMark: 0 });
  return new Response(body, { headers: { "content-type": "application/json" } });
}
