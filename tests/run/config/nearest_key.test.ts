import assert from "node:assert/strict";
import fc from "fast-check";
import { editDistance, nearestKey } from "../../../src/run/config/nearest_key.ts";

Deno.test("editDistance: known values", () => {
  assert.equal(editDistance("kitten", "sitting"), 3);
  assert.equal(editDistance("sede", "seed"), 1);
  assert.equal(editDistance("", "abc"), 3);
});

Deno.test("editDistance: symmetric, 0 only for equal words, at most the longer length", () => {
  const word = fc.string({ maxLength: 8 });
  fc.assert(fc.property(word, word, (a, b) => {
    const distance = editDistance(a, b);
    assert.equal(distance, editDistance(b, a));
    assert.equal(distance === 0, a === b);
    assert.ok(distance <= Math.max(a.length, b.length));
  }));
});

Deno.test("nearestKey: finds slips, prefixes, and nothing for a stranger", () => {
  const keys = ["temperature", "top_k", "top_p", "group_size", "batch_size"];
  assert.equal(nearestKey("temprature", keys), "temperature");
  assert.equal(nearestKey("temp", keys), "temperature");
  assert.equal(nearestKey("groupSize", keys), "group_size");
  assert.equal(nearestKey("zzzzzz", keys), null);
});
