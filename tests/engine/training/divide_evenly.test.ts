import assert from "node:assert/strict";
import fc from "fast-check";
import { divideEvenly } from "../../../src/engine/training/divide_evenly.ts";

const own = (length: number) => length;

Deno.test("divide evenly by hand: the longest group first, to the list with the fewest tokens", () => {
  // 9 → list 0; 7 → 1; 6 → 1 is at 7, 2 is empty: 2; 5 → 2; 4 → 1; 1 → 0.
  assert.deepEqual(divideEvenly([5, 9, 1, 7, 4, 6], own, 3), [[9, 1], [7, 4], [5, 6]]);
  assert.deepEqual(
    divideEvenly([3, 1, 2], own, 1),
    [[3, 1, 2]],
    "one list has the groups as they are",
  );
  assert.deepEqual(divideEvenly([2, 2], own, 4), [[2], [2], [], []]);
  assert.deepEqual(divideEvenly([], own, 2), [[], []]);
});

Deno.test("property: lists hold every group once, in order, and differ by at most the longest", () => {
  const batches = fc.array(fc.integer({ min: 1, max: 500 }), { maxLength: 60 });
  fc.assert(fc.property(batches, fc.integer({ min: 1, max: 9 }), (lengths, count) => {
    const groups = lengths.map((length, place) => ({ length, place }));
    const lists = divideEvenly(groups, ({ length }) => length, count);
    assert.equal(lists.length, count);
    for (const list of lists) {
      assert.deepEqual(list, list.toSorted((a, b) => a.place - b.place));
    }
    assert.deepEqual(lists.flat().toSorted((a, b) => a.place - b.place), groups);
    const tokens = lists.map((list) => list.reduce((sum, { length }) => sum + length, 0));
    assert.ok(Math.max(...tokens) - Math.min(...tokens) <= Math.max(0, ...lengths));
  }));
});
