/** The bodies of requests: how large, how fast, and of which type. */

import type { HonoRequest } from "hono";
import { joinBytes } from "../../base/join_bytes.ts";
import { problemResponse } from "./problem.ts";

/** Bytes of a request's body: about a run, or with prompts for a model. */
export const LARGEST_BODY = { ofRuns: 1 << 20, ofModels: 1 << 25 } as const;
/** Until it is here. */
const LONGEST_BODY_MS = 10_000;

/** A type that a body is expected to be of, and what to do where it is not. */
export interface ExpectedType {
  readonly type: string;
  readonly advice?: string;
}

/**
 * Waits for a whole body, which the routes find read then. Its bytes are counted as they come, since not every client
 * says how many there will be. Of another type than the expected one it is refused: what a form or a script of any page
 * can send without asking is none of those that are expected.
 *
 * @param largest bytes
 * @returns the refusal; null when it is read
 */
export async function readBody(
  request: HonoRequest,
  largest: number,
  { type: expected, advice }: ExpectedType = { type: "application/json" },
): Promise<Response | null> {
  if (Number(request.header("content-length")) > largest) return tooLarge(largest);
  const coding = request.header("transfer-encoding") ?? "chunked";
  if (coding.toLowerCase() !== "chunked") {
    return problemResponse(
      400,
      `A body that is transferred as ${coding} is not read; send it plain.`,
    );
  }
  const bytes = await collected(request.raw.body, largest);
  if (bytes instanceof Response) return bytes;
  const isTyped = isOfType(request.header("content-type"), expected, bytes.length === 0);
  if (request.method === "POST" && !isTyped) {
    return problemResponse(415, `Send a body as ${expected}.${advice ? ` ${advice}` : ""}`);
  }
  // The library keeps the promise of what was read, although its type says otherwise.
  Object.assign(request.bodyCache, { arrayBuffer: Promise.resolve(bytes.buffer) });
  return null;
}

/** Whether a type is the one that is expected; none needs to be said where nothing is sent. */
function isOfType(type: string | undefined, expected: string, isEmpty: boolean): boolean {
  if (type === undefined) return isEmpty;
  return type.split(";")[0].trim().toLowerCase() === expected;
}

/** The bytes of a stream, as far as it may be read. @returns the refusal where it may not */
async function collected(
  stream: ReadableStream<Uint8Array> | null,
  largest: number,
): Promise<Uint8Array<ArrayBuffer> | Response> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  const reader = stream?.getReader();
  const late = new Error("late");
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(late), LONGEST_BODY_MS);
  const next = () => reader && Promise.race([reader.read(), promise]);
  try {
    for (let read = await next(); read?.value; read = await next()) {
      length += read.value.length;
      // What is left is not cancelled, which would break the connection before the refusal is through.
      if (length > largest) return tooLarge(largest);
      pieces.push(read.value);
    }
  } catch (error) {
    // Who hangs up in the middle hears no answer, but who sends what is no body does.
    return error === late ? tooSlow() : problemResponse(400, "The body broke off.");
  } finally {
    clearTimeout(timer);
  }
  return joinBytes(pieces);
}

function tooSlow(): Response {
  return problemResponse(408, `A request is here within ${LONGEST_BODY_MS / 1000} s.`);
}

function tooLarge(largest: number): Response {
  return problemResponse(413, `A request has at most ${largest} bytes.`);
}
