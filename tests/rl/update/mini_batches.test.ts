import assert from "node:assert/strict";
import { miniBatchesOf } from "../../../src/rl/update/mini_batches.ts";

const groupsOf = (size: number, learned: readonly boolean[]) =>
  learned.flatMap((isLearned, group) =>
    Array.from({ length: size }, () => ({ group, isMasked: !isLearned }))
  );
const all = (count: number) => new Array<boolean>(count).fill(true);

Deno.test("mini-batches: where nothing is masked they are equal cuts of the batch", () => {
  for (const [groups, size, count] of [[8, 4, 2], [8, 4, 8], [6, 5, 3], [4, 1, 1]]) {
    const length = groups * size / count;
    assert.deepEqual(
      miniBatchesOf(groupsOf(size, all(groups)), count),
      Array.from({ length: count }, (_, batch) => ({
        first: batch * length,
        end: (batch + 1) * length,
      })),
    );
  }
});

Deno.test("mini-batches: each has as many groups that are learned from, or one less", () => {
  const learned = [false, true, false, false, true, true, false, true, true, false, false, false];
  const responses = groupsOf(3, learned);
  for (const count of [1, 2, 3, 4, 5]) {
    const cut = miniBatchesOf(responses, count);
    assert.equal(cut.length, count);
    assert.deepEqual(
      cut.map(({ first }) => first).slice(1),
      cut.map(({ end }) => end).slice(0, -1),
    );
    assert.deepEqual([cut[0].first, cut[count - 1].end], [0, responses.length]);
    const groups = cut.map(({ first, end }) =>
      new Set(responses.slice(first, end).filter((one) => !one.isMasked).map(({ group }) => group))
        .size
    );
    assert.equal(groups.reduce((a, b) => a + b), 5);
    assert.ok(Math.max(...groups) - Math.min(...groups) <= 1);
    assert.ok(Math.max(...groups) <= Math.ceil(learned.length / count));
    for (const { first } of cut) assert.equal(first % 3, 0);
  }
});

Deno.test("mini-batches: fewer groups than mini-batches, masked ones alone, none", () => {
  assert.deepEqual(miniBatchesOf(groupsOf(2, [false, true, true, false]), 4), [
    { first: 0, end: 4 },
    { first: 4, end: 8 },
  ]);
  assert.deepEqual(miniBatchesOf(groupsOf(2, [false, false]), 2), [{ first: 0, end: 4 }]);
  assert.deepEqual(miniBatchesOf([], 2), []);
  // A group of which some responses are masked is learned from.
  const some = [0, 0, 1, 1].map((group, place) => ({ group, isMasked: place % 2 === 0 }));
  assert.deepEqual(miniBatchesOf(some, 2), [{ first: 0, end: 2 }, { first: 2, end: 4 }]);
  // Responses without a group stand alone.
  assert.deepEqual(miniBatchesOf([{}, {}, {}, {}], 2), [{ first: 0, end: 2 }, {
    first: 2,
    end: 4,
  }]);
});
