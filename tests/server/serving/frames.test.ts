import assert from "node:assert/strict";
import fc from "fast-check";
import { frameOf, readFrames } from "../../../src/server/serving/frames.ts";

const messages = [
  { type: "sample", prompt: new Uint32Array([1, 2 ** 32 - 1]), others: [null, "ä"] },
  { type: "tokens", logProbs: new Float32Array([-0.1, NaN, -Infinity]) },
  { type: "abort", id: 7 },
];

/** A pipe that gives bytes in pieces of so many. */
function pipe(bytes: Uint8Array, sizes: readonly number[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      let at = 0;
      for (let i = 0; at < bytes.length; i++) {
        const size = sizes[i % sizes.length];
        controller.enqueue(bytes.slice(at, at + size));
        at += size;
      }
      controller.close();
    },
  });
}

async function bytesOf(parts: readonly Uint8Array<ArrayBuffer>[]): Promise<Uint8Array> {
  return new Uint8Array(await new Blob([...parts]).arrayBuffer());
}

Deno.test("frames: messages come out as they went in, however a pipe cuts them", async () => {
  const bytes = await bytesOf(messages.map(frameOf));
  await fc.assert(fc.asyncProperty(
    fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 5 }),
    async (sizes) => {
      const read = [];
      for await (const message of readFrames(pipe(bytes, sizes))) read.push(message);
      assert.deepEqual(read, messages);
    },
  ));
});

Deno.test("frames: a pipe that ends within a message is an error", async () => {
  const bytes = await bytesOf(messages.map(frameOf));
  const read = Array.fromAsync(readFrames(pipe(bytes.slice(0, -1), [64])));
  await assert.rejects(read, /within a message/);
});
