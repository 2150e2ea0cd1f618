import assert from "node:assert/strict";
import fc from "fast-check";
import { cutByTokens } from "../../../src/engine/training/micro_batches.ts";

const cut = (lengths: number[], maximum: number) => cutByTokens(lengths, (n) => n, maximum);

Deno.test("micro-batches: filled in order up to the maximum", () => {
  assert.deepEqual(cut([3, 4, 3, 5, 1], 10), [[3, 4, 3], [5, 1]]);
  assert.deepEqual(cut([], 10), []);
});

Deno.test("micro-batches: an item longer than the maximum stands alone", () => {
  assert.deepEqual(cut([2, 30, 2], 10), [[2], [30], [2]]);
});

Deno.test("micro-batches: nothing is lost, none is too long or empty, none could be joined", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(40), { minLength: 1 }), fc.integer({ min: 1, max: 60 }), (
      lengths,
      maximum,
    ) => {
      const runs = cut(lengths, maximum);
      const sum = (run: number[]) => run.reduce((a, b) => a + b, 0);
      assert.deepEqual(runs.flat(), lengths);
      runs.forEach((run, i) => {
        assert.ok(run.length === 1 || sum(run) <= maximum);
        if (i > 0) assert.ok(sum(runs[i - 1]) + run[0] > maximum);
      });
    }),
  );
});
