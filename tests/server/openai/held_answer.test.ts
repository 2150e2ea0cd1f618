import assert from "node:assert/strict";
import { heldAnswer } from "../../../src/server/openai/held_answer.ts";

Deno.test("held answer: what fails before anything is written is thrown, what fails later breaks the answer off", async () => {
  const lost = new Error("lost");
  await assert.rejects(heldAnswer(Promise.reject(lost), () => {}), lost);
  const { promise, reject } = Promise.withResolvers<object>();
  const begun = await heldAnswer(promise, () => {});
  assert.equal(begun.status, 200);
  reject(lost);
  await assert.rejects(begun.text(), lost);
});

Deno.test("held answer: one that is late is whole, and who leaves ends it", async () => {
  const { promise, resolve } = Promise.withResolvers<object>();
  const late = await heldAnswer(promise, () => {});
  resolve({ text: "late" });
  assert.deepEqual(await late.json(), { text: "late" });
  let ended = false;
  const left = await heldAnswer(new Promise(() => {}), () => ended = true);
  await left.body?.cancel();
  assert.ok(ended);
});
