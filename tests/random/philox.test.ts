import assert from "node:assert/strict";
import { philox4x32, RandomStream, streams, uniformAt } from "../../src/random/philox.ts";

Deno.test("philox4x32 gives the known answers published with Random123", () => {
  const ones = 0xffffffff;
  assert.deepEqual(
    [...philox4x32([0, 0, 0, 0], [0, 0])],
    [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8],
  );
  assert.deepEqual(
    [...philox4x32([ones, ones, ones, ones], [ones, ones])],
    [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd],
  );
  assert.deepEqual(
    [...philox4x32([0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344], [0xa4093822, 0x299f31d0])],
    [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
  );
});

Deno.test("uniformAt keys by seed, stream, step, sequence and position as documented", () => {
  const seed = 5 * 2 ** 32 + 0xdeadbeef;
  const words = philox4x32([7, 3, 11, 5], [0xdeadbeef, streams.verifierRollout]);
  const place = { seed, stream: streams.verifierRollout, step: 11, sequence: 3, position: 7 };
  assert.equal(uniformAt(place), (words[0] >>> 8) / 2 ** 24);
});

Deno.test("RandomStream draw d is the number of position d", () => {
  const stream = new RandomStream(42, streams.generatorRollout, 9, 2);
  const place = { seed: 42, stream: streams.generatorRollout, step: 9, sequence: 2 };
  for (let position = 0; position < 5; position++) {
    assert.equal(stream.uniform(), uniformAt({ ...place, position }));
  }
});

Deno.test("uniform numbers are evenly spread", () => {
  const stream = new RandomStream(1, streams.problems);
  const counts = new Array(10).fill(0);
  const draws = 10_000;
  for (let i = 0; i < draws; i++) counts[stream.integer(10)]++;
  // Chi-squared with 9 degrees of freedom exceeds 27.9 with probability 0.001; the seed is fixed.
  const chiSquared = counts.reduce((sum, count) => sum + (count - draws / 10) ** 2, 0) /
    (draws / 10);
  assert.ok(chiSquared < 27.9, `chi-squared ${chiSquared}`);
});

Deno.test("bad seeds and bounds are refused", () => {
  assert.throws(() => new RandomStream(-1, 1), /seed: found -1/);
  assert.throws(() => new RandomStream(0.5, 1), /seed: found 0\.5/);
  assert.throws(() => new RandomStream(0, 1).integer(0), /integer below 0/);
});
