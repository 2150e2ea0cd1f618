import { gatherRows, scatterRows } from "../../src/kernels/layers/gather_rows.ts";
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
