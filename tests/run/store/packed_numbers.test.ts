import assert from "node:assert/strict";
import fc from "fast-check";
import { type PackedNumbers, packNumbers } from "../../../src/run/store/packed_numbers.ts";

Deno.test("packed numbers: three in a row become one pair, two do not", () => {
  assert.deepEqual(packNumbers([]), []);
  assert.deepEqual(packNumbers([7]), [7]);
  assert.deepEqual(packNumbers([1, 1, 2, 2, 2, 1]), [1, 1, [2, 3], 1]);
  assert.deepEqual(packNumbers([0, 0, 0, 0]), [[0, 4]]);
});

/** As a reader of the file unpacks them. */
const unpacked = (packed: PackedNumbers): number[] =>
  packed.flatMap((entry) =>
    typeof entry === "number" ? [entry] : Array<number>(entry[1]).fill(entry[0])
  );

Deno.test("packed numbers: they are those that were packed, and never longer", () => {
  const numbers = fc.array(fc.oneof(fc.constantFrom(0, 1, -0.7071), fc.integer()));
  fc.assert(fc.property(numbers, (plain) => {
    const packed = packNumbers(plain);
    assert.deepEqual(unpacked(packed), plain);
    assert.ok(JSON.stringify(packed).length <= JSON.stringify(plain).length);
  }));
});
