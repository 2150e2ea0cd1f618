import assert from "node:assert/strict";
import { joinBytes } from "../../src/base/join_bytes.ts";
import { within } from "../../src/base/within.ts";

Deno.test("within: what is there in time, null where it is late, and what it is rejected with", async () => {
  assert.equal(await within(Promise.resolve(3), 60_000), 3);
  const { promise, resolve } = Promise.withResolvers<number>();
  assert.equal(await within(promise, 0), null);
  resolve(4);
  assert.equal(await within(promise, 60_000), 4);
  await assert.rejects(within(Promise.reject(new Error("no")), 60_000), /^Error: no$/);
});

Deno.test("joinBytes: parts in their order, each as long as it is", () => {
  const whole = joinBytes([
    Uint8Array.of(1, 2),
    new Uint8Array(),
    Uint8Array.of(9, 3, 8).subarray(1),
  ]);
  assert.deepEqual([...whole], [1, 2, 3, 8]);
  assert.equal(whole.buffer.byteLength, 4);
  assert.equal(joinBytes([]).length, 0);
});
