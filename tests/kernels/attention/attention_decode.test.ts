import type { CacheDtype } from "../../../src/gpu/tensor.ts";
import { attentionForward, attentionPaged } from "../../../src/kernels/attention/attention.ts";
import { pagedSegments } from "../../../src/kernels/attention/attention_segments.ts";
import { attentionDecode } from "../../../src/kernels/attention/attention_decode.ts";
import { pageTokens } from "../../../src/kernels/attention/attention_shape.ts";
import { fromStorage, toStorage } from "../../../src/model/decoder/half_precision.ts";
import { RandomStream } from "../../../src/random/philox.ts";
import {
  assertSameBits,
  attentionReference,
  type Heads,
  packOf,
  randomInputs,
} from "./attention_reference.ts";
import { assertClose, onEveryGpu } from "../harness.ts";
import { runnableSplits, runnableVariants } from "./runnable.ts";

const cases: readonly (Heads & { readonly cacheDtypes: readonly CacheDtype[] })[] = [
  { heads: 4, kvHeads: 2, headDim: 16, scale: 0.25, cacheDtypes: ["bf16"] },
  // 10 pairs of elements are no multiple of a subgroup's 8 lanes, and 5 vectors fewer than them.
  { heads: 3, kvHeads: 1, headDim: 20, scale: 0.22, cacheDtypes: ["f32", "f16"] },
  // 11 heads are more than the 8 that a subgroup takes at once, and no multiple of the 6 it takes.
  { heads: 11, kvHeads: 1, headDim: 64, scale: 0.125, cacheDtypes: ["f32"] },
  // 5 heads of 128 are 160 vectors of output: more than the 128 lanes of a workgroup.
  { heads: 5, kvHeads: 1, headDim: 128, scale: 0.09, cacheDtypes: ["f32"] },
  { heads: 3, kvHeads: 3, headDim: 96, scale: 0.1, cacheDtypes: ["f32"] },
  { heads: 2, kvHeads: 1, headDim: 256, scale: 0.06, cacheDtypes: ["f32"] },
  { heads: 4, kvHeads: 2, headDim: 16, scale: 0.25, window: 40, cacheDtypes: ["f32", "bf16"] },
  { heads: 3, kvHeads: 1, headDim: 20, scale: 0.22, window: 1, cacheDtypes: ["f32"] },
  { heads: 9, kvHeads: 1, headDim: 64, scale: 0.125, window: 150, cacheDtypes: ["f32"] },
  { heads: 4, kvHeads: 2, headDim: 16, scale: 0.25, cap: 2, cacheDtypes: ["f32", "bf16"] },
  { heads: 9, kvHeads: 1, headDim: 64, scale: 0.125, window: 150, cap: 50, cacheDtypes: ["f32"] },
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

for (const { cacheDtypes, ...shape } of cases) {
  const { heads, kvHeads, headDim } = shape;
  for (const cacheDtype of cacheDtypes) {
    onEveryGpu(
      `decoding from shuffled pages repeats the forward pass, head size ${headDim}, ` +
        `window ${shape.window ?? "of all"}, cap ${shape.cap ?? "none"}, cache in ${cacheDtype}`,
      async (gpu) => {
        const pack = packOf([1, 7, 33, 257]);
        const { tokens } = pack;
        const start = pack.sequences.flatMap((rows) => rows.map(() => rows[0]));
        const drawn = randomInputs(tokens, shape, 23);
        const rounded = (numbers: Float32Array) =>
          fromStorage(toStorage(numbers, cacheDtype), cacheDtype);
        const data = { ...drawn, keys: rounded(drawn.keys), values: rounded(drawn.values) };
        const queries = gpu.from(data.queries, [tokens, heads, headDim]);
        const keys = gpu.from(data.keys, [tokens, kvHeads, headDim]);
        const values = gpu.from(data.values, [tokens, kvHeads, headDim]);
        const segments = gpu.from(pack.segments, [tokens, 4]);
        const output = gpu.tensor([tokens, heads, headDim]);
        const statistics = gpu.tensor([2, tokens, heads]);
        attentionForward(
          gpu,
          { queries, keys, values, segments, attendedRows: pack.attendedRows },
          { output, statistics },
          shape,
        );

        // Every sequence gets pages in a random order; rows never written hold NaN, and so does a page that stands for those
        // before a window, which others may have by then.
        const maxPages = Math.ceil(257 / pageTokens);
        const pages = pack.sequences.length * maxPages;
        const order = shuffled(pages);
        const passed = pages;
        const isPassed = (index: number, position: number) =>
          typeof shape.window === "number" &&
          (index + 1) * pageTokens <= position + 1 - shape.window;
        const page = (sequence: number, index: number) => order[sequence * maxPages + index];
        const firsts = [...new Set(start)];
        const rowOf = (t: number) => {
          const position = t - start[t];
          const index = Math.floor(position / pageTokens);
          return page(firsts.indexOf(start[t]), index) * pageTokens + position % pageTokens;
        };
        const cacheShape = [(pages + 1) * pageTokens, kvHeads, headDim];
        const width = kvHeads * headDim;
        const paged = (packed: Float32Array) => {
          const rows = new Float32Array((pages + 1) * pageTokens * width).fill(NaN);
          for (let t = 0; t < tokens; t++) {
            rows.set(packed.subarray(t * width, (t + 1) * width), rowOf(t) * width);
          }
          return gpu.from(toStorage(rows, cacheDtype), cacheShape, cacheDtype);
        };
        const cacheKeys = paged(data.keys);
        const cacheValues = paged(data.values);

        // One slot per token of the pack, each with its sequence's pages, and an unused slot.
        const slots = tokens + 1;
        const lengths = gpu.from(
          Uint32Array.from({ length: slots }, (_, t) => t < tokens ? t - start[t] + 1 : 0),
          [slots],
        );
        const pageTable = gpu.from(
          Uint32Array.from({ length: slots * maxPages }, (_, i) => {
            const t = Math.floor(i / maxPages);
            if (t === tokens) return 0xffffffff;
            const index = i % maxPages;
            return isPassed(index, t - start[t]) ? passed : page(firsts.indexOf(start[t]), index);
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
        for (const split of runnableSplits(gpu, shape.headDim)) {
          const inputs = { queries: slotQueries, cacheKeys, cacheValues, pageTable, lengths };
          attentionDecode(gpu, inputs, decoded, shape, split);
          const actual = await gpu.readFloats(decoded);
          assertSameBits(actual.subarray(0, expected.length), expected, split);
          const unused = actual.subarray(expected.length);
          assertSameBits(unused, new Float32Array(heads * headDim), `${split}, the unused slot`);
        }
        // The last tokens of every sequence from some position on, as a prefill leaves off the cached ones.
        const skipped = [0, 5, 32, 190];
        const suffixes = pack.sequences.map((rows, s) => rows.slice(skipped[s]));
        const rows = suffixes.flat();
        const size = heads * headDim;
        const take = (packed: Float32Array) =>
          Float32Array.from(rows.flatMap((t) => [...packed.subarray(t * size, (t + 1) * size)]));
        const words = pagedSegments(suffixes.map((suffix, s) => ({
          tokens: suffix.length,
          position: skipped[s],
          firstPage: s * maxPages,
        })));
        const paths = {
          queries: gpu.from(take(data.queries), [rows.length, heads, headDim]),
          segments: gpu.from(words, [rows.length, 4]),
          pageTable: gpu.from(
            Uint32Array.from(
              order,
              (page, i) =>
                isPassed(i % maxPages, skipped[Math.floor(i / maxPages)]) ? passed : page,
            ),
            [order.length],
          ),
        };
        const attendedRows = 0;
        const prefilled = gpu.tensor([rows.length, heads, headDim]);
        for (const variant of runnableVariants(gpu, shape.headDim)) {
          const inputs = { ...paths, cacheKeys, cacheValues, attendedRows };
          attentionPaged(gpu, inputs, prefilled, shape, variant);
          assertSameBits(await gpu.readFloats(prefilled), take(expected), `paged, ${variant}`);
        }
        gpu.release(...Object.values(paths), prefilled);
        gpu.release(queries, keys, values, segments, output, statistics, cacheKeys, cacheValues);
        gpu.release(lengths, pageTable, slotQueries, decoded);
      },
    );
  }
}
