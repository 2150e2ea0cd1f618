import type { Gpu } from "../../src/gpu/gpu.ts";
import { attentionForward } from "../../src/kernels/attention.ts";
import {
  attentionDecode,
  type DecodeSplit,
  decodeSplit,
} from "../../src/kernels/attention_decode.ts";
import { pageTokens } from "../../src/kernels/attention_shape.ts";
import { cacheWrite } from "../../src/kernels/cache_write.ts";
import { RandomStream } from "../../src/random/philox.ts";
import {
  assertSameBits,
  attentionReference,
  type Heads,
  packOf,
  randomInputs,
} from "./attention_reference.ts";
import { assertClose, onEveryGpu } from "./harness.ts";

/** The variants this device can run. */
function splits(gpu: Gpu): readonly DecodeSplit[] {
  return decodeSplit(gpu) === "subgroup" ? ["subgroup", "workgroup"] : ["workgroup"];
}

const shapes: readonly Heads[] = [
  { heads: 4, kvHeads: 2, headDim: 16, scale: 0.25 },
  // 9 heads are more than the 8 lanes of a subgroup.
  { heads: 9, kvHeads: 1, headDim: 64, scale: 0.125 },
  // 5 heads of 128 are 160 vectors of output: more than the 128 lanes of a workgroup.
  { heads: 5, kvHeads: 1, headDim: 128, scale: 0.09 },
];

/** 0 … count - 1 in a random order. */
function shuffled(count: number): number[] {
  const random = new RandomStream(3, 98);
  const order = Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i--) {
    const other = random.integer(i + 1);
    [order[i], order[other]] = [order[other], order[i]];
  }
  return order;
}

for (const shape of shapes) {
  const { heads, kvHeads, headDim } = shape;
  onEveryGpu(
    `decoding from shuffled pages repeats the forward pass, head size ${headDim}`,
    async (gpu) => {
      const pack = packOf([1, 7, 33, 257]);
      const { tokens } = pack;
      const start = pack.sequences.flatMap((rows) => rows.map(() => rows[0]));
      const data = randomInputs(tokens, shape, 23);
      const queries = gpu.from(data.queries, [tokens, heads, headDim]);
      const keys = gpu.from(data.keys, [tokens, kvHeads, headDim]);
      const values = gpu.from(data.values, [tokens, kvHeads, headDim]);
      const segments = gpu.from(pack.segments, [tokens, 4]);
      const output = gpu.tensor([tokens, heads, headDim]);
      const logSumExp = gpu.tensor([tokens, heads]);
      attentionForward(
        gpu,
        { queries, keys, values, segments, attendedRows: pack.attendedRows },
        { output, logSumExp },
        shape,
      );

      // Every sequence gets pages in a random order; rows never written hold NaN.
      const maxPages = Math.ceil(257 / pageTokens);
      const pages = pack.sequences.length * maxPages;
      const order = shuffled(pages);
      const page = (sequence: number, index: number) => order[sequence * maxPages + index];
      const firsts = [...new Set(start)];
      const pairs = Uint32Array.from(
        Array.from({ length: tokens }, (_, t) => {
          const position = t - start[t];
          const index = Math.floor(position / pageTokens);
          return [
            t,
            page(firsts.indexOf(start[t]), index) * pageTokens + position % pageTokens,
          ];
        }).flat(),
      );
      const cacheShape = [pages * pageTokens, kvHeads, headDim];
      const unwritten = new Float32Array(pages * pageTokens * kvHeads * headDim).fill(NaN);
      const cacheKeys = gpu.from(unwritten, cacheShape);
      const cacheValues = gpu.from(unwritten, cacheShape);
      const pairTensor = gpu.from(pairs, [tokens, 2]);
      cacheWrite(gpu, { keys, values }, pairTensor, { cacheKeys, cacheValues });

      // One slot per token of the pack, each with its sequence's pages, and an unused slot.
      const slots = tokens + 1;
      const lengths = gpu.from(
        Uint32Array.from({ length: slots }, (_, t) => t < tokens ? t - start[t] + 1 : 0),
        [slots],
      );
      const pageTable = gpu.from(
        Uint32Array.from({ length: slots * maxPages }, (_, i) => {
          const t = Math.floor(i / maxPages);
          return t < tokens ? page(firsts.indexOf(start[t]), i % maxPages) : 0xffffffff;
        }),
        [slots, maxPages],
      );
      const slotData = new Float32Array(slots * heads * headDim).fill(1);
      slotData.set(data.queries);
      const slotQueries = gpu.from(slotData, [slots, heads, headDim]);
      const decoded = gpu.tensor([slots, heads, headDim]);
      const expected = await gpu.readFloats(output);
      const { output: exact } = attentionReference(pack, shape, data);
      assertClose(expected, exact, {
        absolute: 2e-5,
        relative: 2e-5,
        why: "as in attention.test.ts",
      });
      for (const split of splits(gpu)) {
        const inputs = { queries: slotQueries, cacheKeys, cacheValues, pageTable, lengths };
        attentionDecode(gpu, inputs, decoded, shape, split);
        const actual = await gpu.readFloats(decoded);
        assertSameBits(actual.subarray(0, expected.length), expected, split);
        const unused = actual.subarray(expected.length);
        assertSameBits(unused, new Float32Array(heads * headDim), `${split}, the unused slot`);
      }
      gpu.release(queries, keys, values, segments, output, logSumExp, cacheKeys, cacheValues);
      gpu.release(pairTensor, lengths, pageTable, slotQueries, decoded);
    },
  );
}
