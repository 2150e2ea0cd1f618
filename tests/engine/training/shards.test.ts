import assert from "node:assert/strict";
import fc from "fast-check";
import { cutIntoShards } from "../../../src/engine/training/shards.ts";

const own = (length: number) => length;

Deno.test("shards by hand: the longest group first, to the part with the fewest tokens", () => {
  // 9 → part 0; 7 → 1; 6 → 1 is at 7, 2 is empty: 2; 5 → 2; 4 → 1; 1 → 0.
  assert.deepEqual(cutIntoShards([5, 9, 1, 7, 4, 6], own, 3), [[9, 1], [7, 4], [5, 6]]);
  assert.deepEqual(cutIntoShards([3, 1, 2], own, 1), [[3, 1, 2]], "one part is the batch as it is");
  assert.deepEqual(cutIntoShards([2, 2], own, 4), [[2], [2], [], []]);
  assert.deepEqual(cutIntoShards([], own, 2), [[], []]);
});

Deno.test("property: shards hold every group once, in order, and differ by at most the longest", () => {
  const batches = fc.array(fc.integer({ min: 1, max: 500 }), { maxLength: 60 });
  fc.assert(fc.property(batches, fc.integer({ min: 1, max: 9 }), (lengths, shards) => {
    const groups = lengths.map((length, place) => ({ length, place }));
    const parts = cutIntoShards(groups, ({ length }) => length, shards);
    assert.equal(parts.length, shards);
    for (const part of parts) {
      assert.deepEqual(part, part.toSorted((a, b) => a.place - b.place));
    }
    assert.deepEqual(parts.flat().toSorted((a, b) => a.place - b.place), groups);
    const tokens = parts.map((part) => part.reduce((sum, { length }) => sum + length, 0));
    assert.ok(Math.max(...tokens) - Math.min(...tokens) <= Math.max(0, ...lengths));
  }));
});
