/** A gated DeltaNet layer against float64, and the bits of its states and gradients. */

import assert from "node:assert/strict";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import { cacheDtypes, type Tensor } from "../../../src/gpu/tensor.ts";
import {
  attentionSegments,
  packedTokens,
  pagedSegments,
  type PrefixGroupLengths,
} from "../../../src/kernels/attention/attention_segments.ts";
import { pageTokens } from "../../../src/kernels/attention/attention_shape.ts";
import {
  deltaHeads,
  deltaInputs,
  deltaInputsBackward,
} from "../../../src/kernels/delta/delta_inputs.ts";
import { deltaRuleBackward, deltaRuleForward } from "../../../src/kernels/delta/delta_rule.ts";
import { type DeltaShape, deltaWidths } from "../../../src/kernels/delta/delta_shape.ts";
import { packWalks, plainWalk, walkArray } from "../../../src/kernels/delta/delta_walks.ts";
import { gatherRows } from "../../../src/kernels/layers/gather_rows.ts";
import { assertClose, onEveryGpu, randomFloats } from "../harness.ts";
import { deltaReference, type ReferenceLayer } from "./reference.ts";

/** Heads of keys and values of other sizes and numbers; wider than a workgroup has lanes. */
const shapes: readonly DeltaShape[] = [
  { keyHeads: 2, valueHeads: 4, keyDim: 12, valueDim: 8, taps: 4 },
  { keyHeads: 4, valueHeads: 4, keyDim: 4, valueDim: 36, taps: 2 },
  { keyHeads: 1, valueHeads: 8, keyDim: 36, valueDim: 4, taps: 3 },
];

/** Sequences that begin alike, shorter and longer than what is looked back at, and two by themselves. */
const groups: readonly PrefixGroupLengths[] = [
  { prefix: 1, continuations: [1, 3] },
  { prefix: 5, continuations: [1, 2, 9] },
  { prefix: 0, continuations: [7] },
  { prefix: 2, continuations: [4, 1] },
  { prefix: 0, continuations: [1] },
];

const tokensOf = (all: readonly PrefixGroupLengths[]) =>
  all.reduce((sum, group) => sum + packedTokens(group), 0);

/** Of each sequence the rows of the pack, in order. */
function sequencesOf(): number[][] {
  const run = (start: number, length: number) => Array.from({ length }, (_, i) => start + i);
  const rows: number[][] = [];
  let first = 0;
  for (const { prefix, continuations } of groups) {
    let at = first + prefix;
    for (const length of continuations) {
      rows.push([...run(first, prefix), ...run(at, length)]);
      at += length;
    }
    first = at;
  }
  return rows;
}

function randomLayer(shape: DeltaShape, tokens: number): ReferenceLayer {
  const { inputs, projected } = deltaWidths(shape);
  return {
    projected: randomFloats(tokens * projected, 1, 2),
    convolution: randomFloats(inputs * shape.taps, 2),
    decayLogs: randomFloats(shape.valueHeads, 3, 2),
    stepBiases: randomFloats(shape.valueHeads, 4, 2),
  };
}

function onGpu(gpu: Gpu, shape: DeltaShape, layer: ReferenceLayer) {
  const { inputs } = deltaWidths(shape);
  return {
    convolution: gpu.from(layer.convolution, [inputs * shape.taps]),
    decayLogs: gpu.from(layer.decayLogs, [shape.valueHeads]),
    stepBiases: gpu.from(layer.stepBiases, [shape.valueHeads]),
  };
}

/** The layer over a pack; call inside of steps. */
function forward(
  gpu: Gpu,
  shape: DeltaShape,
  weights: ReturnType<typeof onGpu>,
  projected: Tensor,
  packed: readonly PrefixGroupLengths[],
  cacheDtype: "f32" | "f16" | "bf16" = "f32",
) {
  const [tokens] = projected.shape;
  const { inputs: M, values: N } = deltaWidths(shape);
  const { keyHeads, valueHeads, keyDim, valueDim } = shape;
  const kept = { inputs: gpu.tensor([tokens, M]), rates: gpu.tensor([tokens, 2 * valueHeads]) };
  const made = { heads: gpu.tensor([tokens, M]), rstd: gpu.tensor([tokens, 2 * keyHeads]) };
  const segments = gpu.from(attentionSegments(packed), [tokens, 4]);
  deltaInputs(gpu, projected, weights, shape, kept, { cacheDtype });
  deltaHeads(gpu, kept.inputs, { segments }, weights.convolution, shape, made);
  const { walks: list, beginnings, states: count } = packWalks(packed);
  const walks = gpu.from(walkArray(list), [list.length, 8]);
  const states = count > 0 ? gpu.tensor([count, valueHeads, keyDim, valueDim]) : null;
  const output = gpu.tensor([tokens, N]), errors = gpu.tensor([2, tokens, N]);
  const rows = { heads: made.heads, rates: kept.rates, walks };
  const into = { states, output, errors };
  deltaRuleForward(gpu, rows, shape, { first: 0, count: beginnings }, into);
  deltaRuleForward(
    gpu,
    rows,
    shape,
    { first: beginnings, count: list.length - beginnings },
    into,
  );
  return { kept, made, segments, output, rule: { ...rows, errors, states, beginnings } };
}

/** Its gradients, added to `gradients`. @returns that of what the projections gave, without z's */
function backward(
  gpu: Gpu,
  shape: DeltaShape,
  weights: ReturnType<typeof onGpu>,
  projected: Tensor,
  { kept, made, segments, rule }: ReturnType<typeof forward>,
  dOutput: Tensor,
  gradients: ReturnType<typeof onGpu>,
): Tensor {
  const [tokens] = projected.shape;
  const { valueHeads, keyDim } = shape;
  const d = {
    dHeads: gpu.tensor([3, tokens, valueHeads, keyDim]),
    dInputs: gpu.tensor([tokens, deltaWidths(shape).inputs]),
    slopes: gpu.tensor([tokens, 2 * valueHeads]),
  };
  deltaRuleBackward(gpu, rule, shape, dOutput, d);
  const dProjected = gpu.zeros(projected.shape);
  const given = { projected, kept, made, segments };
  deltaInputsBackward(gpu, given, weights, shape, d, dProjected, gradients);
  return dProjected;
}

const zeros = (gpu: Gpu, shape: DeltaShape) => ({
  convolution: gpu.zeros([deltaWidths(shape).inputs * shape.taps]),
  decayLogs: gpu.zeros([shape.valueHeads]),
  stepBiases: gpu.zeros([shape.valueHeads]),
});

const tolerance = {
  absolute: 1e-5,
  relative: 1e-5,
  why:
    "sums of up to 40 products of numbers of up to 4, each rounded to 2⁻²⁴ of them, through up to 14 states",
};

for (const [index, shape] of shapes.entries()) {
  onEveryGpu(
    `delta rule: shape ${index}, packed, is what float64 gives, and its gradients`,
    async (gpu) => {
      const tokens = tokensOf(groups);
      const { values, projected: width } = deltaWidths(shape);
      const layer = randomLayer(shape, tokens);
      const slopes = randomFloats(tokens * values, 5);
      const expected = deltaReference(layer, shape, sequencesOf(), slopes);
      using steps = gpu.steps();
      const found = await gpu.readAll(steps.run(() => {
        const weights = onGpu(gpu, shape, layer);
        const projected = gpu.from(layer.projected, [tokens, width]);
        const made = forward(gpu, shape, weights, projected, groups);
        const gradients = zeros(gpu, shape);
        const dOutput = gpu.from(slopes, [tokens, values]);
        const dProjected = backward(gpu, shape, weights, projected, made, dOutput, gradients);
        const { convolution, decayLogs, stepBiases } = gradients;
        return [made.output, dProjected, convolution, decayLogs, stepBiases];
      })) as Float32Array[];
      assertClose(found[0], expected.output, tolerance);
      assertClose(found[1], expected.dProjected, tolerance);
      assertClose(found[2], expected.dConvolution, tolerance);
      assertClose(found[3], expected.dDecayLogs, tolerance);
      assertClose(found[4], expected.dStepBiases, tolerance);
    },
  );
}

/** Rows of `projected` from `begin` to `end` - 1, on the GPU. */
const rowsOf = (gpu: Gpu, data: Float32Array, width: number, begin: number, end: number) =>
  gpu.from(data.slice(begin * width, end * width), [end - begin, width]);

/**
 * A sequence in the pages of a cache: its state made from the pages in two stretches, of which the later gives the outputs
 * from `first` on, and the rest decoded token by token.
 */
function paged(
  gpu: Gpu,
  shape: DeltaShape,
  weights: ReturnType<typeof onGpu>,
  projected: Float32Array,
  { length, first, prompt, cacheDtype }: {
    readonly length: number;
    readonly first: number;
    readonly prompt: number;
    readonly cacheDtype: "f32" | "f16" | "bf16";
  },
): Tensor[] {
  const { inputs: M, values: N, projected: width } = deltaWidths(shape);
  const { keyHeads, valueHeads, keyDim, valueDim } = shape;
  const pages = Math.ceil(length / pageTokens);
  const order = Uint32Array.from({ length: pages }, (_, page) => pages - 1 - page);
  const rowOf = (position: number) =>
    order[Math.floor(position / pageTokens)] * pageTokens + position % pageTokens;
  const kept = {
    inputs: gpu.zeros([pages * pageTokens, M], cacheDtype),
    rates: gpu.zeros([pages * pageTokens, 2 * valueHeads]),
  };
  const keep = (begin: number, end: number) => {
    const places = Uint32Array.from({ length: end - begin }, (_, i) => rowOf(begin + i));
    const rows = { places: gpu.from(places, [end - begin]), at: 0 };
    const own = rowsOf(gpu, projected, width, begin, end);
    deltaInputs(gpu, own, weights, shape, kept, { cacheDtype, rows });
  };
  const states = gpu.tensor([2, valueHeads, keyDim, valueDim]);
  const headsFor = (rows: number) => ({
    heads: gpu.tensor([rows, M]),
    rstd: gpu.tensor([rows, 2 * keyHeads]),
  });
  keep(0, prompt);
  const prefilled = gpu.tensor([prompt - first, N]);
  const middle = first - 2;
  for (const [begin, end] of [[0, middle], [middle, prompt]]) {
    const count = end - begin;
    const made = headsFor(count);
    const stretch = pagedSegments([{ tokens: count, position: begin, firstPage: 0 }]);
    const pageTable = gpu.from(order, [pages]);
    const segments = gpu.from(stretch, [count, 4]);
    deltaHeads(gpu, kept.inputs, { segments, pageTable }, weights.convolution, shape, made);
    const rates = gpu.tensor([count, 2 * valueHeads]);
    const places = Uint32Array.from({ length: count }, (_, i) => rowOf(begin + i));
    gatherRows(gpu, kept.rates, gpu.from(places, [count]), rates);
    const walk = {
      ...{ ...plainWalk(0, count), start: begin > 0 ? 1 : null, end: 1, outputRow: 0 },
      skipped: Math.min(count, Math.max(0, first - begin)),
    };
    const walks = gpu.from(walkArray([walk]), [1, 8]);
    const rows = { heads: made.heads, rates, walks };
    const into = { states, output: prefilled };
    deltaRuleForward(gpu, rows, shape, { first: 0, count: 1 }, into);
  }
  const decoded = gpu.tensor([length - prompt, N]);
  const slots = [{ ...plainWalk(0, 1), start: 1, end: 1 }, plainWalk(1, 0)];
  for (let position = prompt; position < length; position++) {
    // The second slot is not in use.
    const from = rowsOf(gpu, projected, width, position, position + 2);
    const places = gpu.from(Uint32Array.of(rowOf(position), 0xffffffff), [2]);
    const rows = { places, at: 0 };
    deltaInputs(gpu, from, weights, shape, kept, { cacheDtype, rows });
    const pageTable = gpu.from(Uint32Array.of(...order, ...order), [2, pages]);
    const lengths = gpu.from(Uint32Array.of(position + 1, 0), [2]);
    const made = headsFor(2);
    deltaHeads(gpu, kept.inputs, { lengths, pageTable }, weights.convolution, shape, made);
    const rates = gpu.tensor([2, 2 * valueHeads]);
    gatherRows(gpu, kept.rates, places, rates);
    const walks = gpu.from(walkArray(slots), [2, 8]);
    const output = gpu.tensor([2, N]);
    const walked = { heads: made.heads, rates, walks };
    const range = { first: 0, count: 2 };
    deltaRuleForward(gpu, walked, shape, range, { states, output, isOfSlots: true });
    const at = position - prompt;
    gpu.copy(output.view(0, [1, N]), decoded.view(at * N, [1, N]));
  }
  return [prefilled, decoded];
}

onEveryGpu(
  "delta rule: prefill, decoding and training have the same bits, whatever the cache's type",
  async (gpu) => {
    const length = 2 * pageTokens + 5, first = pageTokens + 1, prompt = 2 * pageTokens - 3;
    // Rows of 64 values, so that each can be copied.
    const shape = { keyHeads: 2, valueHeads: 4, keyDim: 12, valueDim: 16, taps: 4 };
    const { values, projected: width } = deltaWidths(shape);
    // One more, for the slot that is not in use.
    const layer = randomLayer(shape, length + 1);
    for (const cacheDtype of cacheDtypes) {
      using steps = gpu.steps();
      const [trained, prefilled, decoded] = await gpu.readAll(steps.run(() => {
        const weights = onGpu(gpu, shape, layer);
        const projected = rowsOf(gpu, layer.projected, width, 0, length);
        const lone = [{ prefix: 0, continuations: [length] }];
        const { output } = forward(gpu, shape, weights, projected, lone, cacheDtype);
        const where = { length, first, prompt, cacheDtype };
        return [output, ...paged(gpu, shape, weights, layer.projected, where)];
      }));
      assert.deepEqual(prefilled, trained.slice(first * values, prompt * values), cacheDtype);
      assert.deepEqual(decoded, trained.slice(prompt * values), cacheDtype);
    }
  },
);

onEveryGpu(
  "delta rule: shared beginnings show in no bit, and passes in none of the gradients",
  async (gpu) => {
    const [shape] = shapes;
    const tokens = tokensOf(groups);
    const { values, projected: width } = deltaWidths(shape);
    const layer = randomLayer(shape, tokens);
    const slopes = randomFloats(tokens * values, 5);
    using steps = gpu.steps();
    const computed = (cuts: readonly (readonly PrefixGroupLengths[])[]) =>
      steps.run(() => {
        const weights = onGpu(gpu, shape, layer), gradients = zeros(gpu, shape);
        let row = 0;
        const made = cuts.flatMap((packed) => {
          const end = row + tokensOf(packed);
          const projected = rowsOf(gpu, layer.projected, width, row, end);
          const dOutput = rowsOf(gpu, slopes, values, row, end);
          const made = forward(gpu, shape, weights, projected, packed);
          const d = backward(gpu, shape, weights, projected, made, dOutput, gradients);
          row = end;
          return [made.output, d];
        });
        return { made, gradients: Object.values(gradients) };
      });
    const whole = computed([groups]), cut = computed(groups.map((group) => [group]));
    const [one, others] = [await gpu.readAll(whole.gradients), await gpu.readAll(cut.gradients)];
    assert.deepEqual(others, one);
    const pieces = await gpu.readAll(cut.made) as Float32Array[];
    const [output, dProjected] = await gpu.readAll(whole.made) as Float32Array[];
    const joined = (from: number) =>
      Float32Array.from(pieces.filter((_, i) => i % 2 === from).flatMap((piece) => [...piece]));
    assert.deepEqual(joined(0), output);
    assert.deepEqual(joined(1), dProjected);
    // Each sequence by itself, its beginning with it.
    for (const rows of sequencesOf()) {
      const own = Float32Array.from(
        rows.flatMap((row) => [...layer.projected.subarray(row * width, (row + 1) * width)]),
      );
      const lone = [{ prefix: 0, continuations: [rows.length] }];
      const [alone] = await gpu.readAll(steps.run(() => {
        const projected = gpu.from(own, [rows.length, width]);
        return [forward(gpu, shape, onGpu(gpu, shape, layer), projected, lone).output];
      })) as Float32Array[];
      rows.forEach((row, position) => {
        const of = (data: Float32Array, at: number) => data.slice(at * values, (at + 1) * values);
        assert.deepEqual(of(alone, position), of(output, row));
      });
    }
  },
);

// Were a decay's gradient what tokens give less what they get, a few per cent of it would be wrong in the quickest head.
onEveryGpu(
  "delta rule: gradients of a long sequence, whether heads let go slowly or at once",
  async (gpu) => {
    const shape = { keyHeads: 2, valueHeads: 4, keyDim: 16, valueDim: 12, taps: 4 };
    const { valueHeads } = shape;
    const { values, projected: width } = deltaWidths(shape);
    const tokens = 300;
    const layer = {
      ...randomLayer(shape, tokens),
      decayLogs: Float32Array.of(-4, -2, 0.5, 2.5),
      stepBiases: Float32Array.of(1, -3, 0, 1),
    };
    const slopes = randomFloats(tokens * values, 5);
    const rows = Array.from({ length: tokens }, (_, t) => t);
    const expected = deltaReference(layer, shape, [rows], slopes);
    using steps = gpu.steps();
    const found = await gpu.readAll(steps.run(() => {
      const weights = onGpu(gpu, shape, layer), gradients = zeros(gpu, shape);
      const projected = gpu.from(layer.projected, [tokens, width]);
      const made = forward(gpu, shape, weights, projected, [{
        prefix: 0,
        continuations: [tokens],
      }]);
      const dOutput = gpu.from(slopes, [tokens, values]);
      return [backward(gpu, shape, weights, projected, made, dOutput, gradients)];
    })) as Float32Array[];
    for (let head = 0; head < valueHeads; head++) {
      const steps = (of: ArrayLike<number>) =>
        Float64Array.from(rows, (t) => of[(t + 1) * width - valueHeads + head]);
      const own = steps(expected.dProjected);
      assertClose(steps(found[0]), own, {
        absolute: 5e-6 * own.reduce((most, x) => Math.max(most, Math.abs(x)), 0),
        relative: 0,
        why: "sums of a state's 192 products, of which each is rounded to 2⁻²⁴ in up to 300 steps",
      });
    }
  },
);
