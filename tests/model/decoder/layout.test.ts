import assert from "node:assert/strict";
import { type Block, placeBlocks } from "../../../src/model/decoder/layout.ts";

/** A matrix of so many rows of 65,536. */
function matrix(key: string, rows: number): Block {
  const shape = [rows, 2 ** 16];
  return {
    key,
    shape,
    tensors: [{ name: `${key}.weight`, shape, first: 0, size: rows * 2 ** 16, offset: 0 }],
  };
}

Deno.test("layout: no segment of quantised blocks has more elements than 32 bits count", () => {
  const blocks = [matrix("first", 40_000), matrix("second", 25_536), matrix("third", 1)];
  // 4 GiB bind 6.9e9 elements of 5 bits.
  const { placements, segments } = placeBlocks(blocks, 2 ** 32, "q4");
  assert.deepEqual(segments.map(({ size }) => size), [2 ** 32, 2 ** 16]);
  assert.deepEqual(placements.map(({ segment, offset }) => [segment, offset]), [
    [0, 0],
    [0, 40_000 * 2 ** 16],
    [1, 0],
  ]);
  assert.throws(
    () => placeBlocks([matrix("alone", 65_537)], 2 ** 32, "q4"),
    /binds 4294967296 of q4/,
  );
});
