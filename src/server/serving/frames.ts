/** Messages between two processes over a pipe: the bytes of a message, as structured values are cloned, after their number. */

import { deserialize, serialize } from "node:v8";
import { joinBytes } from "../../base/join_bytes.ts";

/** Bytes that tell how many follow. */
const HEADER_BYTES = 4;

/** A message as it goes over the pipe. */
export function frameOf(message: unknown): Uint8Array<ArrayBuffer> {
  const body = serialize(message);
  const frame = new Uint8Array(HEADER_BYTES + body.length);
  new DataView(frame.buffer).setUint32(0, body.length);
  frame.set(body, HEADER_BYTES);
  return frame;
}

/**
 * The messages of a pipe, until it is closed.
 *
 * @throws Error when it ends within a message
 */
export async function* readFrames<Message>(
  stream: ReadableStream<Uint8Array>,
): AsyncGenerator<Message> {
  const parts = new Parts();
  for await (const part of stream) {
    parts.append(part);
    for (;;) {
      const header = parts.peek(HEADER_BYTES);
      if (header === null) break;
      const length = new DataView(header.buffer, header.byteOffset).getUint32(0);
      const frame = parts.peek(HEADER_BYTES + length);
      if (frame === null) break;
      parts.drop(frame.length);
      yield deserialize(frame.slice(HEADER_BYTES)) as Message;
    }
  }
  if (parts.length > 0) throw new Error("a pipe was closed within a message");
}

/** Bytes that came and were not used yet; joined only when a whole message is there. */
class Parts {
  #parts: Uint8Array[] = [];
  length = 0;

  append(part: Uint8Array): void {
    this.#parts.push(part);
    this.length += part.length;
  }

  /** The first bytes; null as long as there are fewer. */
  peek(count: number): Uint8Array | null {
    if (this.length < count) return null;
    if (this.#parts[0].length < count) this.#parts = [joinBytes(this.#parts)];
    return this.#parts[0].subarray(0, count);
  }

  drop(count: number): void {
    this.length -= count;
    const rest = this.#parts[0].subarray(count);
    if (rest.length > 0) this.#parts[0] = rest;
    else this.#parts.shift();
  }
}
