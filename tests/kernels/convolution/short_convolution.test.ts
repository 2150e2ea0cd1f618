import assert from "node:assert/strict";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import { type CacheDtype, cacheDtypes, type Tensor } from "../../../src/gpu/tensor.ts";
import {
  attentionSegments,
  packedTokens,
  pagedSegments,
} from "../../../src/kernels/attention/attention_segments.ts";
import { pageTokens } from "../../../src/kernels/attention/attention_shape.ts";
import {
  convolutionBackward,
  convolutionDecode,
  convolutionForward,
  convolutionInputs,
} from "../../../src/kernels/convolution/short_convolution.ts";
import { assertClose, onEveryGpu, randomFloats } from "../harness.ts";

/** C; L is 2 to 4. */
const channels = 20;

/** Sequences that begin alike, shorter and longer than what is looked back at, and one by itself. */
const groups = [
  { prefix: 1, continuations: [1, 3] },
  { prefix: 5, continuations: [1, 2, 9] },
  { prefix: 0, continuations: [7] },
  { prefix: 2, continuations: [4, 1] },
];

/** Of each sequence the rows of the pack, in order. */
function sequencesOf(): number[][] {
  const rows: number[][] = [];
  let first = 0;
  for (const { prefix, continuations } of groups) {
    const run = (start: number, length: number) => Array.from({ length }, (_, i) => start + i);
    let at = first + prefix;
    for (const length of continuations) {
      rows.push([...run(first, prefix), ...run(at, length)]);
      at += length;
    }
    first = at;
  }
  return rows;
}

const tokens = groups.reduce((sum, group) => sum + packedTokens(group), 0);

/** The outputs in float64, and the gradients of what the pack's rows have in common, summed over the sequences. */
function reference(
  projected: Float32Array,
  weights: Float32Array,
  taps: number,
  dOutput: Float32Array,
) {
  const [b, c, x] = [0, 1, 2].map((part) => (row: number, j: number) =>
    projected[(row * 3 + part) * channels + j]
  );
  const output = new Float64Array(tokens * channels);
  const dProjected = new Float64Array(tokens * 3 * channels);
  const dWeights = new Float64Array(channels * taps);
  const counted = new Set<number>();
  for (const rows of sequencesOf()) {
    rows.forEach((row, position) => {
      if (counted.has(row)) return;
      counted.add(row);
      for (let j = 0; j < channels; j++) {
        const d = dOutput[row * channels + j];
        let sum = 0;
        for (let tap = 0; tap < taps; tap++) {
          const source = rows[position - (taps - 1 - tap)];
          if (source === undefined) continue;
          const input = b(source, j) * x(source, j), weight = weights[j * taps + tap];
          sum += weight * input;
          const dSum = d * c(row, j);
          dWeights[j * taps + tap] += dSum * input;
          dProjected[source * 3 * channels + j] += dSum * weight * x(source, j);
          dProjected[(source * 3 + 2) * channels + j] += dSum * weight * b(source, j);
        }
        output[row * channels + j] = c(row, j) * sum;
        dProjected[(row * 3 + 1) * channels + j] = d * sum;
      }
    });
  }
  return { output, dProjected, dWeights };
}

const tolerance = {
  absolute: 2e-6,
  relative: 2e-6,
  why: "sums of up to 40 products of numbers below 1, rounded to 2⁻²⁴ of them at each term",
};

onEveryGpu(
  "convolution: outputs and gradients of packed sequences are those in float64",
  async (gpu) => {
    for (const taps of [2, 3, 4]) {
      const projected = randomFloats(tokens * 3 * channels, 1);
      const weights = randomFloats(channels * taps, 2);
      const slopes = randomFloats(tokens * channels, 3);
      const expected = reference(projected, weights, taps, slopes);
      using steps = gpu.steps();
      const found = await gpu.readAll(steps.run(() => {
        const inputs = gpu.tensor([tokens, channels]);
        const output = gpu.tensor([tokens, channels]);
        const dProjected = gpu.tensor([tokens, 3 * channels]);
        const weightGradient = gpu.zeros([channels * taps]);
        const from = gpu.from(projected, [tokens, 3 * channels]);
        const segments = gpu.from(attentionSegments(groups), [tokens, 4]);
        const weight = gpu.from(weights, [channels * taps]);
        const dOutput = gpu.from(slopes, [tokens, channels]);
        convolutionInputs(gpu, from, inputs, { cacheDtype: "f32" });
        convolutionForward(gpu, from, { inputs, segments }, { weight, taps }, output);
        const gradients = { dOutput, dProjected, weightGradient };
        convolutionBackward(gpu, from, { inputs, segments }, { weight, taps }, gradients);
        return [output, dProjected, weightGradient];
      })) as Float32Array[];
      assertClose(found[0], expected.output, tolerance);
      assertClose(found[1], expected.dProjected, tolerance);
      assertClose(found[2], expected.dWeights, tolerance);
    }
  },
);

/** Sequences one by one in the pages of a cache, as they are prefilled in two passes and decoded token by token. */
function paged(
  gpu: Gpu,
  projected: Float32Array,
  weights: { readonly weight: Tensor; readonly taps: number },
  cacheDtype: CacheDtype,
  length: number,
) {
  const width = 3 * channels;
  const pages = Math.ceil(length / pageTokens);
  const order = Uint32Array.from({ length: pages }, (_, page) => pages - 1 - page);
  const rowOf = (position: number) =>
    order[Math.floor(position / pageTokens)] * pageTokens + position % pageTokens;
  const cache = () => gpu.zeros([pages * pageTokens, channels], cacheDtype);
  const prefilled = gpu.tensor([length, channels]), decoded = gpu.tensor([length, channels]);
  const inputs = cache(), others = cache();
  const first = pageTokens + 1;
  for (const [begin, end] of [[0, first], [first, length]]) {
    const count = end - begin;
    const from = gpu.from(projected.slice(begin * width, end * width), [count, width]);
    const places = gpu.from(
      Uint32Array.from({ length: count }, (_, i) => rowOf(begin + i)),
      [count],
    );
    convolutionInputs(gpu, from, inputs, { cacheDtype, rows: { places, at: 0 } });
    const segments = gpu.from(
      pagedSegments([{ tokens: count, position: begin, firstPage: 0 }]),
      [count, 4],
    );
    const pageTable = gpu.from(order, [pages]);
    const output = gpu.tensor([count, channels]);
    convolutionForward(gpu, from, { inputs, segments, pageTable }, weights, output);
    gpu.copy(output, prefilled.view(begin * channels, [count, channels]));
  }
  for (let position = 0; position < length; position++) {
    // The second slot is not in use.
    const from = gpu.from(projected.slice(position * width, (position + 2) * width), [2, width]);
    const pageTable = gpu.from(Uint32Array.of(...order, ...order), [2, pages]);
    const lengths = gpu.from(Uint32Array.of(position + 1, 0), [2]);
    const output = gpu.tensor([2, channels]);
    convolutionDecode(gpu, from, { inputs: others, pageTable, lengths }, weights, output);
    gpu.copy(
      output.view(0, [1, channels]),
      decoded.view(position * channels, [1, channels]),
    );
  }
  return [prefilled, decoded, inputs, others];
}

onEveryGpu(
  "convolution: prefill, decoding and training have the same bits, whatever the cache's type",
  async (gpu) => {
    const [length, taps] = [2 * pageTokens + 5, 3];
    // One more, for the slot that is not in use.
    const projected = randomFloats((length + 1) * 3 * channels, 4);
    for (const cacheDtype of cacheDtypes) {
      using steps = gpu.steps();
      const found = await gpu.readAll(steps.run(() => {
        const weight = gpu.from(randomFloats(channels * taps, 5), [channels * taps]);
        const from = gpu.from(projected.slice(0, length * 3 * channels), [length, 3 * channels]);
        const inputs = gpu.tensor([length, channels]), trained = gpu.tensor([length, channels]);
        const lone = [{ prefix: 0, continuations: [length] }];
        const segments = gpu.from(attentionSegments(lone), [length, 4]);
        convolutionInputs(gpu, from, inputs, { cacheDtype });
        convolutionForward(gpu, from, { inputs, segments }, { weight, taps }, trained);
        return [trained, ...paged(gpu, projected, { weight, taps }, cacheDtype, length)];
      }));
      const [trained, prefilled, decoded, inputs, others] = found;
      assert.deepEqual(prefilled, trained, `prefilled, ${cacheDtype}`);
      assert.deepEqual(decoded, trained, `decoded, ${cacheDtype}`);
      assert.deepEqual(others, inputs, `what is kept, ${cacheDtype}`);
    }
  },
);

onEveryGpu(
  "convolution: a batch cut in passes adds the same gradient of the weights",
  async (gpu) => {
    const taps = 3, lengths = [6, 1, 9];
    const projected = randomFloats(16 * 3 * channels, 6), slopes = randomFloats(16 * channels, 7);
    using steps = gpu.steps();
    const gradientOf = (cuts: readonly (readonly number[])[]) =>
      steps.run(() => {
        const weight = gpu.from(randomFloats(channels * taps, 8), [channels * taps]);
        const weightGradient = gpu.zeros([channels * taps]);
        let row = 0;
        for (const pass of cuts) {
          const count = pass.reduce((sum, length) => sum + length, 0);
          const rows = (data: Float32Array, width: number) =>
            gpu.from(data.slice(row * width, (row + count) * width), [count, width]);
          const from = rows(projected, 3 * channels);
          const inputs = gpu.tensor([count, channels]);
          const continuations = pass.map((length) => ({ prefix: 0, continuations: [length] }));
          const segments = gpu.from(attentionSegments(continuations), [count, 4]);
          convolutionInputs(gpu, from, inputs, { cacheDtype: "f32" });
          convolutionBackward(gpu, from, { inputs, segments }, { weight, taps }, {
            dOutput: rows(slopes, channels),
            dProjected: gpu.tensor([count, 3 * channels]),
            weightGradient,
          });
          row += count;
        }
        return [weightGradient];
      });
    const [whole, cut] = await gpu.readAll([
      ...gradientOf([lengths]),
      ...gradientOf(lengths.map((length) => [length])),
    ]);
    assert.deepEqual(cut, whole);
  },
);
