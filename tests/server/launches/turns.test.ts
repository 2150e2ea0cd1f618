import assert from "node:assert/strict";
import { Turns } from "../../../src/server/launches/turns.ts";

Deno.test("turns: one after the other, the urgent before those that wait, and who leaves does nothing", async () => {
  const turns = new Turns();
  const done: string[] = [];
  let going = 0;
  const take = (name: string, options: Parameters<Turns["take"]>[1] = {}) =>
    turns.take(async () => {
      assert.equal(going++, 0);
      await new Promise((resolve) => setTimeout(resolve, 1));
      going--;
      done.push(name);
      if (name === "failing") throw new Error(name);
    }, options);
  const leaving = new AbortController();
  const first = take("first");
  const left = take("left", { signal: leaving.signal });
  const failing = take("failing");
  const last = take("last");
  const urgent = take("urgent", { isFirst: true });
  const rejected = [
    assert.rejects(left, { name: "AbortError" }),
    assert.rejects(failing, { message: "failing" }),
  ];
  leaving.abort();
  await rejected[0];
  assert.deepEqual(done, [], "it did not wait for its turn to leave");
  await assert.rejects(take("late", { signal: leaving.signal }), { name: "AbortError" });
  await Promise.all([first, last, urgent, ...rejected]);
  assert.deepEqual(done, ["first", "urgent", "failing", "last"]);
  await take("again");
  assert.equal(done.at(-1), "again");
});
