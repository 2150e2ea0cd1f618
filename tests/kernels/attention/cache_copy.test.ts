import assert from "node:assert/strict";
import { cacheCopy } from "../../../src/kernels/attention/cache_copy.ts";
import { onEveryGpu, randomFloats } from "../harness.ts";

onEveryGpu("cacheCopy copies one row to many and leaves the others", async (gpu) => {
  const [kvHeads, headDim, rows] = [3, 4, 64];
  const width = kvHeads * headDim;
  const keys = randomFloats(rows * width, 1);
  const values = randomFloats(rows * width, 2);
  const pairs = [[0, 7], [0, 31], [0, 63], [4, 1], [2, 8], [64, 9], [3, 0xffffffff]];
  const cacheKeys = gpu.from(keys, [rows, kvHeads, headDim]);
  const cacheValues = gpu.from(values, [rows, kvHeads, headDim]);
  const pairTensor = gpu.from(Uint32Array.from(pairs.flat()), [pairs.length, 2]);
  cacheCopy(gpu, { cacheKeys, cacheValues }, pairTensor);

  const expected = (before: Float32Array) => {
    const cache = before.slice();
    for (const [from, to] of pairs.slice(0, 5)) {
      cache.set(before.subarray(from * width, (from + 1) * width), to * width);
    }
    return cache;
  };
  assert.deepEqual(await gpu.readFloats(cacheKeys), expected(keys));
  assert.deepEqual(await gpu.readFloats(cacheValues), expected(values));

  // The same rows as pairs of 16-bit numbers.
  const bits = new Uint16Array(keys.buffer);
  const halves = gpu.from(bits, [rows, kvHeads, 2 * headDim], "bf16");
  const others = gpu.from(bits, [rows, kvHeads, 2 * headDim], "bf16");
  cacheCopy(gpu, { cacheKeys: halves, cacheValues: others }, pairTensor);
  const [copied] = await gpu.readAll([halves]);
  assert.deepEqual(new Float32Array(copied.slice().buffer), expected(keys));

  // What a convolution keeps: no values, and rows of 8 bytes.
  const inputs = gpu.from(bits.slice(0, rows * 12), [rows, 12], "bf16");
  cacheCopy(gpu, { cacheKeys: inputs, cacheValues: null }, pairTensor);
  const [alone] = await gpu.readAll([inputs]);
  const rowOf = (row: number) => Array.from(alone.subarray(row * 12, (row + 1) * 12));
  for (const [from, to] of pairs.slice(0, 5)) {
    assert.deepEqual(rowOf(to), Array.from(bits.subarray(from * 12, (from + 1) * 12)));
  }
  assert.deepEqual(rowOf(9), Array.from(bits.subarray(9 * 12, 10 * 12)));
  gpu.release(cacheKeys, cacheValues, pairTensor, halves, others, inputs);
});
