import { gemm, type GemmLayout } from "../../src/kernels/gemm.ts";
import { dot, type MakeBenchmark, sampleIndices, sumBound } from "../benchmark.ts";

/** C [m, n]; nt: A [m, k], B [n, k]; nn: A [m, k], B [k, n]; tn: A [k, m], B [k, n]. */
export const makeGemm: MakeBenchmark = (bench, { size: { m, n, k } }, variant) => {
  const layout = variant as GemmLayout;
  const a = bench.random(layout === "tn" ? [k, m] : [m, k]);
  const b = bench.random(layout === "nt" ? [n, k] : [k, n]);
  const c = bench.zeros([m, n]);
  return {
    work: 2 * m * n * k,
    launch: () => gemm(bench.gpu, layout, a.tensor, b.tensor, c),
    check: async () => {
      const result = await bench.gpu.readFloats(c);
      return sampleIndices(m * n).map((at) => {
        const [i, j] = [Math.floor(at / n), at % n];
        const { sum, magnitude } = dot(
          k,
          (p) => a.data[layout === "tn" ? p * m + i : i * k + p],
          (p) => b.data[layout === "nt" ? j * k + p : p * n + j],
        );
        const bound = sumBound(k, magnitude);
        return { what: `C[${i}, ${j}]`, actual: result[at], expected: sum, bound };
      });
    },
  };
};
