import assert from "node:assert/strict";
import { add } from "../../../src/kernels/products/add.ts";
import {
  addAll,
  keptSums,
  sumEarlierShards,
  wholeRanges,
} from "../../../src/engine/training/shard_sums.ts";
import { ownShards } from "../../../src/engine/training/shards.ts";
import { onEveryGpu, randomFloats } from "../../kernels/harness.ts";
import { addInTree, flat, type HostSum } from "./shard_tree.ts";

onEveryGpu("add: target += addend, to the last bit", async (gpu) => {
  for (const size of [4, 1028]) {
    const [a, b] = [randomFloats(size, 1, 3), randomFloats(size, 2, 1e-3)];
    const [addend, target] = [gpu.from(a, [size]), gpu.from(b, [size])];
    add(gpu, addend, target);
    const sum = await gpu.readFloats(target);
    assert.deepEqual(sum, a.map((x, i) => Math.fround(x + b[i])));
    gpu.release(addend, target);
  }
});

onEveryGpu("shards are added over the same tree, whoever computes which of them", async (gpu) => {
  const shapes = [[8], [4, 3]];
  const elements = 20;
  for (const shards of [1, 2, 3, 4, 5, 6, 7, 8, 11]) {
    // Numbers of all sizes: another order would round otherwise.
    const numbers = Array.from(
      { length: shards },
      (_, s) => randomFloats(elements, 10 + s, 1).map((x, i) => x * 10 ** (i % 5 - 2)),
    );
    const expected = addInTree(
      numbers.map((data, first) => ({ first, end: first + 1, data })),
    );
    // One process with all shards, two, three, and one for each.
    for (const processes of new Set([1, Math.min(2, shards), Math.min(3, shards), shards])) {
      const found: HostSum[] = [];
      for (let rank = 0; rank < processes; rank++) {
        const gradients = shapes.map((shape) => gpu.tensor(shape));
        const own = ownShards(shards, { rank, size: processes });
        let mostKept = 0;
        const before = gpu.pool.liveBytes;
        const computed: number[] = [];
        const compute = (shard: number) => {
          computed.push(shard);
          mostKept = Math.max(mostKept, gpu.pool.liveBytes - before);
          gpu.write(gradients[0], numbers[shard].slice(0, 8));
          gpu.write(gradients[1], numbers[shard].slice(8));
          return Promise.resolve();
        };
        const { sums, addends } = await sumEarlierShards(gpu, gradients, shards, own, compute);
        await compute(own.end - 1);
        for (const addend of addends) addAll(gpu, addend, gradients);
        assert.deepEqual(
          computed,
          Array.from({ length: own.end - own.first }, (_, i) => own.first + i),
        );
        for (const { first, end, gradients } of sums) {
          found.push({ first, end, data: flat(await gpu.readAll(gradients)) });
        }
        assert.equal(sums.at(-1)?.gradients, gradients);
        assert.deepEqual(sums.map(({ first, end }) => ({ first, end })), wholeRanges(shards, own));
        // Each copy of these small tensors takes one buffer of 256 bytes for each.
        assert.equal(mostKept, keptSums(shards, own) * shapes.length * 256);
        gpu.release(...[...sums.map(({ gradients }) => gradients), ...addends].flat());
      }
      if (processes === 1) assert.equal(found.length, 1, "one process makes the whole sum itself");
      assert.deepEqual(addInTree(found), expected, `${shards} shards, ${processes} processes`);
    }
  }
});

onEveryGpu("a shard that fails leaves no memory behind", async (gpu) => {
  const gradients = [gpu.zeros([4])];
  const failing = sumEarlierShards(
    gpu,
    gradients,
    8,
    { first: 0, end: 8 },
    (shard) => shard === 5 ? Promise.reject(new Error("shard 5")) : Promise.resolve(),
  );
  await assert.rejects(failing, /shard 5/);
  gpu.release(...gradients);
});
