import { attentionDecode } from "../../src/kernels/attention/attention_decode.ts";
import { pageTokens } from "../../src/kernels/attention/attention_shape.ts";
import { dot, type MakeBenchmark, sampleIndices } from "../benchmark.ts";

/** One new token per sequence over a full paged cache; a sequence's pages lie apart. */
export const makeDecodeAttention: MakeBenchmark = (bench, { size }) => {
  const { sequences, context, heads, kvHeads, headDim } = size;
  const { gpu } = bench;
  const pages = Math.ceil(context / pageTokens);
  const rows = sequences * pages * pageTokens;
  const q = bench.random([sequences, heads, headDim]);
  const k = bench.random([rows, kvHeads, headDim]);
  const v = bench.random([rows, kvHeads, headDim]);
  // Page p of sequence s is page p · sequences + s of the cache.
  const pageTable = bench.integers(
    Uint32Array.from(
      { length: sequences * pages },
      (_, i) => (i % pages) * sequences + Math.floor(i / pages),
    ),
    [sequences, pages],
  );
  const lengths = bench.integers(new Uint32Array(sequences).fill(context));
  const output = bench.zeros([sequences, heads, headDim]);
  const scale = 1 / Math.sqrt(headDim);
  const inputs = {
    queries: q.tensor,
    cacheKeys: k.tensor,
    cacheValues: v.tensor,
    pageTable: pageTable.tensor,
    lengths: lengths.tensor,
  };
  return {
    work: 8 * sequences * context * kvHeads * headDim,
    launch: () => attentionDecode(gpu, inputs, output, { heads, kvHeads, headDim, scale }),
    check: async () => {
      const result = await gpu.readFloats(output);
      return sampleIndices(result.length).map((at) => {
        const [s, head] = [Math.floor(at / headDim / heads), Math.floor(at / headDim) % heads];
        const kvHead = Math.floor(head / (heads / kvHeads));
        const row = (i: number) => {
          const page = pageTable.data[s * pages + Math.floor(i / pageTokens)];
          return ((page * pageTokens + i % pageTokens) * kvHeads + kvHead) * headDim;
        };
        const query = (s * heads + head) * headDim;
        const powers = Float64Array.from({ length: context }, (_, i) => {
          const key = row(i);
          return Math.exp(
            scale * dot(headDim, (d) => q.data[query + d], (d) => k.data[key + d]).sum,
          );
        });
        const total = powers.reduce((a, b) => a + b);
        const { sum } = dot(context, (i) => powers[i], (i) => v.data[row(i) + at % headDim]);
        return { what: `output[${at}]`, actual: result[at], expected: sum / total, bound: 5e-6 };
      });
    },
  };
};
