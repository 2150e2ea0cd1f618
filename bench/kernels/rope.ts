import { ropeBackward, ropeForward } from "../../src/kernels/attention/rope.ts";
import { inverseFrequencies, ropeTable } from "../../src/kernels/attention/rope_table.ts";
import { type MakeBenchmark, sampleIndices, type TimingSample } from "../benchmark.ts";

/**
 * The engine's kernel also splits the projection into queries, keys and values and leaves the values
 * unrotated; half of the shape's heads are queries here, a quarter keys and a quarter values, so that it
 * moves as many bytes as a rotation of all of them. Backwards it rotates in place and passes over values: half are
 * queries and half keys.
 */
export const makeRope: MakeBenchmark = (bench, { size }, variant) => {
  const { tokens, headDim } = size;
  const { gpu } = bench;
  const backward = variant === "backward";
  const [heads, kvHeads] = [size.heads / 2, size.heads / (backward ? 2 : 4)];
  const half = headDim / 2;
  const frequencies = inverseFrequencies(headDim, 10000);
  const table = ropeTable(gpu, tokens, { frequencies, pairs: headDim / 2, magnitude: 1 });
  bench.onRelease(() => gpu.release(table));
  const positions = bench.integers(Uint32Array.from({ length: tokens }, (_, t) => t));
  const units = heads + 2 * kvHeads;
  const qkv = bench.random([tokens, units * headDim]);
  const options = { heads, kvHeads, headDim, table };
  const shapes = [heads, kvHeads, kvHeads].map((count) => [tokens, count, headDim]);
  const work = 8 * tokens * size.heads * headDim;

  /** Element d of a head at position t, rotated (backwards) from its two elements x0 and x1. */
  const rotate = (t: number, d: number, x0: number, x1: number) => {
    const angle = t * frequencies[d % half] * (backward ? -1 : 1);
    return d < half
      ? x0 * Math.cos(angle) - x1 * Math.sin(angle)
      : x1 * Math.cos(angle) + x0 * Math.sin(angle);
  };
  const sample = (what: string, actual: number, expected: number): TimingSample => ({
    what,
    actual,
    expected,
    bound: 1e-6,
  });

  if (!backward) {
    const [queries, keys, values] = shapes.map((shape) => bench.zeros(shape));
    return {
      work,
      launch: () =>
        ropeForward(gpu, qkv.tensor, positions.tensor, { queries, keys, values }, {
          ...options,
          cacheDtype: "f32",
        }),
      check: async () => {
        const [q, v] = await gpu.readAll([queries, values]);
        return sampleIndices(q.length).map((at) => {
          const [t, head] = [Math.floor(at / headDim / heads), Math.floor(at / headDim) % heads];
          const d = at % headDim;
          const first = (t * size.heads + head) * headDim + d % half;
          const expected = rotate(t, d, qkv.data[first], qkv.data[first + half]);
          return sample(`queries[${at}]`, q[at], expected);
        }).concat(
          sampleIndices(v.length, 8).map((at) => {
            const [t, rest] = [Math.floor(at / headDim / kvHeads), at % (headDim * kvHeads)];
            const from = (t * size.heads + heads + kvHeads) * headDim + rest;
            return sample(`values[${at}]`, v[at], qkv.data[from]);
          }),
        );
      },
    };
  }
  const given = bench.random([tokens, units * headDim]);
  const dQkv = given.tensor;
  return {
    work,
    launch: () => ropeBackward(gpu, qkv.tensor, positions.tensor, dQkv, null, options),
    check: async () => {
      // In place: what was given is gone.
      gpu.write(dQkv, given.data);
      ropeBackward(gpu, qkv.tensor, positions.tensor, dQkv, null, options);
      const result = await gpu.readFloats(dQkv);
      return sampleIndices(tokens * heads * headDim).map((at) => {
        const [t, head] = [Math.floor(at / headDim / heads), Math.floor(at / headDim) % heads];
        const d = at % headDim;
        const first = (t * units + head) * headDim + d % half;
        const expected = rotate(t, d, given.data[first], given.data[first + half]);
        return sample(`dQkv of query ${at}`, result[first - d % half + d], expected);
      });
    },
  };
};
