import { gemm, type GemmLayout } from "../../src/kernels/products/gemm.ts";
import {
  dot,
  type MakeBenchmark,
  sampleIndices,
  sumBound,
  type TimingSample,
  type Workbench,
} from "../benchmark.ts";
import type { Shape } from "../shapes.ts";

/** C [m, n]; nt: A [m, k], B [n, k]; nn: A [m, k], B [k, n]; tn: A [k, m], B [k, n]. */
export function makeProduct(bench: Workbench, { size: { m, n, k } }: Shape, layout: GemmLayout) {
  const a = bench.random(layout === "tn" ? [k, m] : [m, k]);
  const b = bench.random(layout === "nt" ? [n, k] : [k, n]);
  const c = bench.zeros([m, n]);
  return {
    work: 2 * m * n * k,
    a: a.data,
    b: b.data,
    c,
    launch: () => gemm(bench.gpu, layout, a.tensor, b.tensor, c),
    /** Compares some elements of a product with their sums in float64. */
    compare: (result: Float32Array): TimingSample[] =>
      sampleIndices(m * n).map((at) => {
        const [i, j] = [Math.floor(at / n), at % n];
        const { sum, magnitude } = dot(
          k,
          (p) => a.data[layout === "tn" ? p * m + i : i * k + p],
          (p) => b.data[layout === "nt" ? j * k + p : p * n + j],
        );
        const bound = sumBound(k, magnitude);
        return { what: `C[${i}, ${j}]`, actual: result[at], expected: sum, bound };
      }),
  };
}

/** See `makeProduct`. */
export const makeGemm: MakeBenchmark = (bench, shape, variant) => {
  const { work, launch, compare, c } = makeProduct(bench, shape, variant as GemmLayout);
  return { work, launch, check: async () => compare(await bench.gpu.readFloats(c)) };
};
