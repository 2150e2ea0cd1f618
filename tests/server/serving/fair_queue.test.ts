import assert from "node:assert/strict";
import { FairQueue } from "../../../src/server/serving/fair_queue.ts";

Deno.test("fair queue: clients take turns, each in its own order", () => {
  const queue = new FairQueue<string>();
  for (const item of ["a1", "a2", "a3", "b1", "c1", "c2"]) queue.add(item[0], item);
  assert.equal(queue.length, 6);
  const taken = Array.from({ length: 7 }, () => queue.take());
  assert.deepEqual(taken, ["a1", "b1", "c1", "a2", "c2", "a3", undefined]);
  assert.equal(queue.length, 0);
});

Deno.test("fair queue: who comes late waits for one turn of each, not for all of them", () => {
  const queue = new FairQueue<string>();
  for (let i = 0; i < 100; i++) queue.add("many", `many ${i}`);
  queue.take();
  queue.add("one", "one");
  assert.deepEqual([queue.take(), queue.take()], ["many 1", "one"]);
});

Deno.test("fair queue: an item can be taken out, once", () => {
  const queue = new FairQueue<string>();
  for (const item of ["a1", "a2", "b1"]) queue.add(item[0], item);
  assert.equal(queue.remove("a", "a1"), true);
  assert.equal(queue.remove("a", "a1"), false);
  assert.equal(queue.remove("b", "b1"), true);
  assert.deepEqual([queue.length, queue.take(), queue.take()], [1, "a2", undefined]);
  queue.add("a", "a3");
  assert.deepEqual([queue.clear(), queue.length], [["a3"], 0]);
});
