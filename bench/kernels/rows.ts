import { cacheWrite } from "../../src/kernels/cache_write.ts";
import { gatherRows, scatterRows } from "../../src/kernels/gather_rows.ts";
import { type MakeBenchmark, sampleIndices } from "../benchmark.ts";

/** Coprime to every number of rows in shapes.json, so that it visits each row once. */
const stride = 7919;
const shuffled = (count: number) =>
  Uint32Array.from({ length: count }, (_, i) => (i * stride) % count);

/** All rows of a matrix in another order; backward puts them back. */
export const makeGatherRows: MakeBenchmark = (bench, { size: { rows, width } }, variant) => {
  const { gpu } = bench;
  const source = bench.random([rows, width]);
  const target = bench.zeros([rows, width]);
  const order = bench.integers(shuffled(rows));
  const run = variant === "forward" ? gatherRows : scatterRows;
  return {
    work: 8 * rows * width,
    launch: () => run(gpu, source.tensor, order.tensor, target),
    check: async () => {
      const result = await gpu.readFloats(target);
      return sampleIndices(rows * width).map((at) => {
        const [row, column] = [Math.floor(at / width), at % width];
        const there = order.data[row] * width + column;
        const [from, to] = variant === "forward" ? [there, at] : [at, there];
        const expected = source.data[from];
        return { what: `target[${to}]`, actual: result[to], expected, bound: 0 };
      });
    },
  };
};

/** Keys and values of every token into a cache of as many rows, in another order. */
export const makeCacheWrite: MakeBenchmark = (bench, { size }) => {
  const { tokens, kvHeads, headDim } = size;
  const { gpu } = bench;
  const shape = [tokens, kvHeads, headDim];
  const [keys, values] = [bench.random(shape), bench.random(shape)];
  const cache = { cacheKeys: bench.zeros(shape), cacheValues: bench.zeros(shape) };
  const rows = shuffled(tokens);
  const pairs = bench.integers(
    Uint32Array.from({ length: 2 * tokens }, (_, i) => i % 2 === 0 ? i / 2 : rows[(i - 1) / 2]),
    [tokens, 2],
  );
  const packed = { keys: keys.tensor, values: values.tensor };
  return {
    work: 16 * tokens * kvHeads * headDim,
    launch: () => cacheWrite(gpu, packed, pairs.tensor, cache),
    check: async () => {
      const [cachedKeys, cachedValues] = await gpu.readAll([cache.cacheKeys, cache.cacheValues]);
      const width = kvHeads * headDim;
      return sampleIndices(tokens * width).flatMap((at) => {
        const to = rows[Math.floor(at / width)] * width + at % width;
        return [
          { what: `keys[${to}]`, actual: cachedKeys[to], expected: keys.data[at], bound: 0 },
          { what: `values[${to}]`, actual: cachedValues[to], expected: values.data[at], bound: 0 },
        ];
      });
    },
  };
};
