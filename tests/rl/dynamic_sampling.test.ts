import assert from "node:assert/strict";
import { sampleGroups } from "../../src/rl/dynamic_sampling.ts";

/** Samples from batches that are given by the rewards of their groups; a group knows where it came from. */
async function sampled(wanted: number, maximum: number, batches: readonly (readonly number[][])[]) {
  const asked: number[] = [];
  const result = await sampleGroups(
    wanted,
    maximum,
    (batch) => {
      asked.push(batch);
      return Promise.resolve(
        batches[batch].map((rewards, i) => ({ name: `${batch}.${i}`, rewards })),
      );
    },
    ({ rewards }) => rewards,
  );
  assert.deepEqual(asked, Array.from({ length: result.batches }, (_, batch) => batch));
  return { ...result, groups: result.groups.map(({ name }) => name) };
}

const unequal = [0, 1];
const right = [1, 1];
const wrong = [0, 0];

Deno.test("dynamic sampling: a first batch with enough unequal groups is enough", async () => {
  assert.deepEqual(await sampled(2, 3, [[unequal, unequal], [unequal, unequal]]), {
    groups: ["0.0", "0.1"],
    batches: 1,
    unequalShare: 1,
  });
});

Deno.test("dynamic sampling: it goes on until there are enough, and takes no more than asked", async () => {
  const batches = [[right, unequal, wrong], [wrong, wrong, right], [unequal, unequal, unequal]];
  assert.deepEqual(await sampled(3, 5, batches), {
    groups: ["0.1", "2.0", "2.1"],
    batches: 3,
    unequalShare: 4 / 9,
  });
});

Deno.test("dynamic sampling: when there are never enough, equal ones make up the number", async () => {
  const batches = [[right, wrong, unequal], [wrong, unequal, right]];
  assert.deepEqual(await sampled(3, 2, batches), {
    groups: ["0.2", "1.1", "0.0"],
    batches: 2,
    unequalShare: 2 / 6,
  });
  assert.deepEqual(await sampled(2, 3, [[right, wrong], [wrong, wrong], [right, right]]), {
    groups: ["0.0", "0.1"],
    batches: 3,
    unequalShare: 0,
  });
});

Deno.test("dynamic sampling: a single batch is taken as it is, in its order", async () => {
  assert.deepEqual(await sampled(4, 1, [[right, unequal, wrong, unequal]]), {
    groups: ["0.0", "0.1", "0.2", "0.3"],
    batches: 1,
    unequalShare: 2 / 4,
  });
});
