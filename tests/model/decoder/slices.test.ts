import assert from "node:assert/strict";
import fc from "fast-check";
import { pieceBytes } from "../../../src/gpu/tensor_pieces.ts";
import { cutIntoSlices } from "../../../src/model/decoder/slices.ts";

Deno.test("slices by hand: dealt out in turn, the last of a tensor shorter", () => {
  // 5 partial sums for 2 owners: too few for four slices each, so that each slice is one partial sum.
  assert.deepEqual(cutIntoSlices([3 * 8192 + 64, 128], 2), [
    { tensor: 0, first: 0, end: 8192, owner: 0 },
    { tensor: 0, first: 8192, end: 16384, owner: 1 },
    { tensor: 0, first: 16384, end: 24576, owner: 0 },
    { tensor: 0, first: 24576, end: 24640, owner: 1 },
    { tensor: 1, first: 0, end: 128, owner: 0 },
  ]);
  assert.deepEqual(cutIntoSlices([100_000, 64], 1), [
    { tensor: 0, first: 0, end: 100_000, owner: 0 },
    { tensor: 1, first: 0, end: 64, owner: 0 },
  ]);
});

Deno.test("property: slices hold every element once, in pieces, and about equally many for each", () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 30 * 2 ** 20 }), { minLength: 1, maxLength: 4 });
  fc.assert(fc.property(sizes, fc.integer({ min: 2, max: 70 }), (sizes, owners) => {
    const slices = cutIntoSlices(sizes, owners);
    const owned = new Array<number>(owners).fill(0);
    const covered = sizes.map(() => 0);
    for (const { tensor, first, end, owner } of slices) {
      assert.equal(first, covered[tensor]);
      assert.equal(first % 8192, 0);
      assert.ok(end > first && 4 * (end - first) <= pieceBytes);
      covered[tensor] = end;
      owned[owner] += end - first;
    }
    assert.deepEqual(covered, sizes);
    // The last slice of each tensor is shorter, whoever owns it.
    const longest = Math.max(...slices.map(({ first, end }) => end - first));
    assert.ok(Math.max(...owned) - Math.min(...owned) <= (sizes.length + 1) * longest);
  }));
});
