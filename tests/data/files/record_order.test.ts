import assert from "node:assert/strict";
import fc from "fast-check";
import { fileOrder, shuffledOrder, weightedOrder } from "../../../src/data/files/record_order.ts";
import { RandomStream, streams } from "../../../src/random/philox.ts";

function uniformOfEpoch(seed: number) {
  return (epoch: number) => {
    const stream = new RandomStream(seed, streams.problems, epoch, 0);
    return () => stream.uniform();
  };
}

const counts = fc.integer({ min: 1, max: 200 });
const seeds = fc.integer({ min: 0, max: 2 ** 31 });

Deno.test("every epoch has each record once", () => {
  fc.assert(fc.property(counts, seeds, fc.nat(5), (count, seed, epoch) => {
    for (const order of [shuffledOrder(count, uniformOfEpoch(seed)), fileOrder(count)]) {
      const indices = Array.from(
        { length: count },
        (_, place) => order.indexAt(epoch * count + place),
      );
      assert.deepEqual(
        indices.toSorted((a, b) => a - b),
        Array.from({ length: count }, (_, index) => index),
      );
      assert.equal(order.epochOf(epoch * count), epoch);
      assert.equal(order.epochOf(epoch * count + count - 1), epoch);
    }
  }));
});

Deno.test("what is at a position does not depend on what was asked before", () => {
  fc.assert(
    fc.property(
      counts,
      seeds,
      fc.array(fc.nat(1000), { minLength: 1 }),
      (count, seed, positions) => {
        const order = shuffledOrder(count, uniformOfEpoch(seed));
        for (const position of positions) {
          const fresh = shuffledOrder(count, uniformOfEpoch(seed));
          assert.equal(order.indexAt(position), fresh.indexAt(position));
        }
      },
    ),
  );
});

Deno.test("epochs and seeds differ; an epoch is shuffled once", () => {
  let asked = 0;
  const order = shuffledOrder(50, (epoch) => {
    asked++;
    return uniformOfEpoch(1)(epoch);
  });
  const epoch = (start: number, from = order) =>
    Array.from({ length: 50 }, (_, place) => from.indexAt(start + place));
  assert.notDeepEqual(epoch(0), epoch(50));
  assert.equal(asked, 2);
  assert.notDeepEqual(epoch(0), epoch(0, shuffledOrder(50, uniformOfEpoch(2))));
});

Deno.test("all orders come about equally often", () => {
  const seen = new Map<string, number>();
  const tries = 6000;
  for (let seed = 0; seed < tries; seed++) {
    const order = shuffledOrder(3, uniformOfEpoch(seed));
    const key = [0, 1, 2].map((position) => order.indexAt(position)).join("");
    seen.set(key, (seen.get(key) ?? 0) + 1);
  }
  assert.equal(seen.size, 6);
  // Each of 6 orders is expected 1000 times with a standard deviation of 29; 150 is more than five.
  for (const [key, times] of seen) assert.ok(Math.abs(times - 1000) < 150, `${key}: ${times}`);
});

Deno.test("file order repeats; positions and counts that are none are refused", () => {
  const order = fileOrder(3);
  assert.deepEqual([0, 1, 2, 3, 4].map((position) => order.indexAt(position)), [0, 1, 2, 0, 1]);
  assert.throws(() => order.indexAt(-1), RangeError);
  assert.throws(() => order.indexAt(0.5), RangeError);
  assert.throws(() => fileOrder(0), RangeError);
  assert.throws(() => shuffledOrder(1.5, uniformOfEpoch(1)), RangeError);
});

const uniformOfGroup = (seed: number) => (epoch: number, group: number) => {
  const stream = new RandomStream(seed, streams.problems, epoch, group);
  return () => stream.uniform();
};

Deno.test("weights: each epoch takes its share of every weight, and none of them comes more often than another", () => {
  const weight = fc.constantFrom(0.1, 0.25, 0.5, 1, 1.5, 3);
  fc.assert(
    fc.property(fc.array(weight, { minLength: 1, maxLength: 40 }), seeds, (weights, seed) => {
      for (const uniform of [uniformOfGroup(seed), null]) {
        const order = weightedOrder(weights, uniform);
        const times = weights.map(() => 0);
        const members = (one: number) => weights.flatMap((w, index) => w === one ? [index] : []);
        const shares = new Map([...new Set(weights)].map((one) => {
          const { length } = members(one);
          return [one, Math.max(1, Math.round(one * length))];
        }));
        for (let epoch = 0; epoch < 5; epoch++) {
          const drawn = Array.from(
            { length: order.count },
            (_, place) => order.indexAt(epoch * order.count + place),
          );
          for (const index of drawn) times[index]++;
          for (const [one, share] of shares) {
            assert.equal(drawn.filter((index) => weights[index] === one).length, share);
          }
        }
        for (const one of shares.keys()) {
          const counts = members(one).map((index) => times[index]);
          assert.ok(Math.max(...counts) - Math.min(...counts) <= 1, `${one}: ${counts}`);
        }
      }
    }),
  );
});

Deno.test("weights: what is at a position does not depend on what was asked before, and epochs differ", () => {
  const weights = Array.from({ length: 30 }, (_, i) => i < 20 ? 1 : 2.5);
  const order = weightedOrder(weights, uniformOfGroup(3));
  assert.equal(order.count, 45);
  for (const position of [100, 3, 44, 45, 0, 99]) {
    const fresh = weightedOrder(weights, uniformOfGroup(3));
    assert.equal(order.indexAt(position), fresh.indexAt(position));
  }
  const epoch = (number: number) =>
    Array.from({ length: 45 }, (_, place) => order.indexAt(45 * number + place));
  assert.notDeepEqual(epoch(0), epoch(1));
});

Deno.test("weights: in the files' order each weight's records go on where they were", () => {
  const order = weightedOrder([1, 1, 0.5, 0.5], null);
  const drawn = Array.from({ length: 7 }, (_, position) => order.indexAt(position));
  assert.deepEqual(drawn, [0, 1, 2, 0, 1, 3, 0]);
});
