import assert from "node:assert/strict";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import { attentionBackward, attentionForward } from "../../../src/kernels/attention/attention.ts";
import {
  type AttentionVariant,
  attentionVariant,
} from "../../../src/kernels/attention/attention_shape.ts";
import {
  assertSameBits,
  attentionReference,
  type Heads,
  type Pack,
  packOf,
  packOfGroups,
  randomInputs,
  splitHeads,
} from "./attention_reference.ts";
import { assertClose, onEveryGpu } from "../harness.ts";
import { runnableVariants } from "./runnable.ts";

const shapes: readonly Heads[] = [
  { heads: 4, kvHeads: 2, headDim: 16, scale: 0.25 },
  { heads: 3, kvHeads: 1, headDim: 64, scale: 0.125 },
  { heads: 2, kvHeads: 2, headDim: 128, scale: 0.09 },
  { heads: 2, kvHeads: 1, headDim: 96, scale: 0.1 },
  { heads: 1, kvHeads: 1, headDim: 256, scale: 0.06 },
  { heads: 4, kvHeads: 2, headDim: 16, scale: 0.25, window: 20 },
  { heads: 3, kvHeads: 1, headDim: 64, scale: 0.125, window: 100 },
  { heads: 2, kvHeads: 1, headDim: 24, scale: 0.2, window: 1 },
  // Scores lie on either side of where the kernels' tanh goes from one formula to the other.
  { heads: 4, kvHeads: 2, headDim: 16, scale: 0.25, cap: 2 },
  { heads: 3, kvHeads: 1, headDim: 64, scale: 0.125, window: 100, cap: 50 },
];

const named = ({ headDim, window, cap }: Heads) =>
  `head size ${headDim}${window === undefined ? "" : `, a window of ${window}`}` +
  (cap === undefined ? "" : `, capped at ${cap}`);

const tolerance = {
  absolute: 2e-5,
  relative: 2e-5,
  why: "scores of up to about 5 rounded to f32 and an exp2 of a few 1e-7, over at most 257 terms",
};

/** Forward and backward; the results by name. */
async function run(
  gpu: Gpu,
  { tokens, segments, attendedRows }: Pack,
  shape: Heads,
  data: ReturnType<typeof randomInputs>,
  variant: AttentionVariant,
): Promise<Record<string, Float32Array>> {
  const { heads, kvHeads, headDim } = shape;
  const perQuery = [tokens, heads, headDim], perKey = [tokens, kvHeads, headDim];
  const tensors = {
    queries: gpu.from(data.queries, perQuery),
    keys: gpu.from(data.keys, perKey),
    values: gpu.from(data.values, perKey),
    outputGradient: gpu.from(data.outputGradient, perQuery),
    segments: gpu.from(segments, [tokens, 4]),
  };
  const inputs = { ...tensors, attendedRows };
  const outputs = { output: gpu.tensor(perQuery), statistics: gpu.tensor([2, tokens, heads]) };
  const dQkv = gpu.tensor([tokens, (heads + 2 * kvHeads) * headDim]);
  attentionForward(gpu, inputs, outputs, shape, variant);
  attentionBackward(gpu, { ...inputs, ...outputs }, dQkv, shape, variant);
  const [output, statistics] = await gpu.readAll(Object.values(outputs));
  const gradients = splitHeads(await gpu.readFloats(dQkv), tokens, shape);
  gpu.release(...Object.values(tensors), ...Object.values(outputs), dQkv);
  return {
    output: output as Float32Array,
    logSumExp: (statistics as Float32Array).slice(0, tokens * heads),
    ...gradients,
  };
}

/** What one sequence of a pack has of the inputs, or of a result. */
const rowsOf = (sequence: readonly number[], array: Float32Array, width: number) =>
  Float32Array.from(
    sequence.flatMap((row) => [...array.subarray(row * width, (row + 1) * width)]),
  );

/** Forward and backward of one sequence of a pack by itself. */
function runAlone(
  gpu: Gpu,
  sequence: readonly number[],
  shape: Heads,
  data: ReturnType<typeof randomInputs>,
  variant: AttentionVariant,
): Promise<Record<string, Float32Array>> {
  const { heads, kvHeads, headDim } = shape;
  return run(gpu, packOf([sequence.length]), shape, {
    queries: rowsOf(sequence, data.queries, heads * headDim),
    keys: rowsOf(sequence, data.keys, kvHeads * headDim),
    values: rowsOf(sequence, data.values, kvHeads * headDim),
    outputGradient: rowsOf(sequence, data.outputGradient, heads * headDim),
  }, variant);
}

for (const shape of shapes) {
  onEveryGpu(`attention and its gradients, ${named(shape)}`, async (gpu) => {
    const pack = packOf([33, 1, 7, 257]);
    const data = randomInputs(pack.tokens, shape, 5);
    const expected = attentionReference(pack, shape, data);
    let first: Record<string, Float32Array> | undefined;
    for (const variant of runnableVariants(gpu, shape.headDim)) {
      const actual = await run(gpu, pack, shape, data, variant);
      for (const [name, values] of Object.entries(expected)) {
        const why = `${name}, ${variant}: ${tolerance.why}`;
        assertClose(actual[name], values, { ...tolerance, why });
      }
      first ??= actual;
      for (const [name, values] of Object.entries(first)) {
        assertSameBits(actual[name], values, `${name}, ${variant}`);
      }
    }
  });
}

/** A lane owns one row of the first; of the second three heads of a token, one of them twice, or two keys. */
const packedShapes: readonly Heads[] = [
  shapes[0],
  { heads: 5, kvHeads: 1, headDim: 20, scale: 0.22 },
  { heads: 2, kvHeads: 1, headDim: 16, scale: 0.22, window: 18 },
  { heads: 3, kvHeads: 1, headDim: 20, scale: 0.22, window: 9 },
  { heads: 3, kvHeads: 1, headDim: 20, scale: 0.22, cap: 3 },
];

for (const shape of packedShapes) {
  onEveryGpu(
    `a sequence has the same bits alone and packed, ${named(shape)}`,
    async (gpu) => {
      const pack = packOf([1, 7, 33, 5, 70, 1]);
      const data = randomInputs(pack.tokens, shape, 11);
      for (const variant of runnableVariants(gpu, shape.headDim)) {
        const packed = await run(gpu, pack, shape, data, variant);
        for (const sequence of pack.sequences) {
          const alone = await runAlone(gpu, sequence, shape, data, variant);
          for (const [name, values] of Object.entries(packed)) {
            const own = rowsOf(sequence, values, values.length / pack.tokens);
            assertSameBits(alone[name], own, `${name}, ${variant}`);
          }
        }
      }
    },
  );

  onEveryGpu(
    `a shared prefix: gradients, and the bits of each sequence alone, ${named(shape)}`,
    async (gpu) => {
      // Prefixes that end inside, at and beyond a block of keys and a tile of queries; one stands alone.
      const pack = packOfGroups([
        { prefix: 5, continuations: [3, 1, 20] },
        { prefix: 0, continuations: [9] },
        { prefix: 32, continuations: [1, 40] },
        { prefix: 1, continuations: [2, 2, 2] },
        { prefix: 70, continuations: [33, 7] },
      ]);
      const data = randomInputs(pack.tokens, shape, 29);
      const expected = attentionReference(pack, shape, data);
      for (const variant of runnableVariants(gpu, shape.headDim)) {
        const packed = await run(gpu, pack, shape, data, variant);
        for (const [name, values] of Object.entries(expected)) {
          const why = `${name}, ${variant}: ${tolerance.why}`;
          assertClose(packed[name], values, { ...tolerance, why });
        }
        for (const sequence of pack.sequences) {
          const alone = await runAlone(gpu, sequence, shape, data, variant);
          // A shared key's gradient has terms of every sequence; all else is the sequence's own.
          for (const name of ["output", "logSumExp", "dQueries"]) {
            const own = rowsOf(sequence, packed[name], packed[name].length / pack.tokens);
            assertSameBits(alone[name], own, `${name}, ${variant}`);
          }
        }
      }
    },
  );
}

onEveryGpu("a later token changes nothing before it", async (gpu) => {
  const shape = shapes[0];
  const pack = packOf([40]);
  const data = randomInputs(40, shape, 17);
  const before = await run(gpu, pack, shape, data, attentionVariant(gpu));
  const width = shape.kvHeads * shape.headDim;
  const changed = { ...data, keys: data.keys.slice(), values: data.values.slice() };
  changed.keys.fill(9, 30 * width, 31 * width);
  changed.values.fill(9, 30 * width, 31 * width);
  const after = await run(gpu, pack, shape, changed, attentionVariant(gpu));
  const at = 30 * shape.heads * shape.headDim;
  assertSameBits(after.output.subarray(0, at), before.output.subarray(0, at), "output");
  assert.notDeepEqual(after.output.slice(at), before.output.slice(at));
});

onEveryGpu("attention names the tensor of a wrong shape", async (gpu) => {
  const tensor = gpu.tensor([3, 2, 16]);
  const segments = gpu.tensor([3, 4], "u32");
  const inputs = { queries: tensor, keys: tensor, values: tensor, segments, attendedRows: 3 };
  const outputs = { output: tensor, statistics: tensor };
  const shape = { heads: 2, kvHeads: 1, headDim: 16, scale: 1 };
  assert.throws(
    () => attentionForward(gpu, inputs, outputs, shape),
    /attention: keys is f32 \[3,2,16\], expected f32 \[3,1,16\]/,
  );
  assert.throws(
    () => attentionForward(gpu, inputs, outputs, { ...shape, kvHeads: 3 }),
    /2 query heads are no multiple of 3/,
  );
  gpu.release(tensor, segments);
  await gpu.finish();
});
