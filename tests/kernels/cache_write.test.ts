import assert from "node:assert/strict";
import { cacheWrite } from "../../src/kernels/cache_write.ts";
import { onEveryGpu, randomFloats } from "./harness.ts";

onEveryGpu("cacheWrite copies one token to many rows and leaves the others", async (gpu) => {
  const [tokens, kvHeads, headDim, rows] = [5, 3, 4, 64];
  const width = kvHeads * headDim;
  const keyData = randomFloats(tokens * width, 1);
  const valueData = randomFloats(tokens * width, 2);
  const before = randomFloats(rows * width, 3);
  const pairs = [[0, 7], [0, 31], [0, 63], [4, 0], [2, 8], [5, 9], [1, 0xffffffff]];
  const keys = gpu.from(keyData, [tokens, kvHeads, headDim]);
  const values = gpu.from(valueData, [tokens, kvHeads, headDim]);
  const cacheKeys = gpu.from(before, [rows, kvHeads, headDim]);
  const cacheValues = gpu.from(before, [rows, kvHeads, headDim]);
  const pairTensor = gpu.from(Uint32Array.from(pairs.flat()), [pairs.length, 2]);
  cacheWrite(gpu, { keys, values }, pairTensor, { cacheKeys, cacheValues });

  const expected = (source: Float32Array) => {
    const cache = before.slice();
    for (const [token, row] of pairs.slice(0, 5)) {
      cache.set(source.subarray(token * width, (token + 1) * width), row * width);
    }
    return cache;
  };
  assert.deepEqual(await gpu.readFloats(cacheKeys), expected(keyData));
  assert.deepEqual(await gpu.readFloats(cacheValues), expected(valueData));
  gpu.release(keys, values, cacheKeys, cacheValues, pairTensor);
});
