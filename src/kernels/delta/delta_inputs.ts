import type { Gpu } from "../../gpu/gpu.ts";
import { bytesOf, type CacheDtype, cacheDtypes, type Tensor } from "../../gpu/tensor.ts";
import { lanesOfRow } from "../../gpu/tuning.ts";
import { pageTokens } from "../attention/attention_shape.ts";
import { convolutionParts, convolutionWeightGradient } from "../convolution/short_convolution.ts";
import { columnSum } from "../layers/column_sum.ts";
import { compose } from "../parts/compose.ts";
import { expectShape } from "../parts/expect_shape.ts";
import convolutionBackwardText from "./delta_convolution_backward.wgsl" with { type: "text" };
import convolutionText from "./delta_convolution.wgsl" with { type: "text" };
import inputsText from "./delta_inputs.wgsl" with { type: "text" };
import normText from "./delta_norm.wgsl" with { type: "text" };
import ratesBackwardText from "./delta_rates_backward.wgsl" with { type: "text" };
import { type DeltaShape, deltaWidths, expectDeltaShape } from "./delta_shape.ts";
import delta_rates from "./parts/delta_rates.wgsl" with { type: "text" };

const parts = { ...convolutionParts, delta_rates };
const [inputsCode, convolutionCode, convolutionBackwardCode, normCode, ratesBackwardCode] = [
  inputsText,
  convolutionText,
  convolutionBackwardText,
  normText,
  ratesBackwardText,
].map((text) => compose(text, parts));

/** Lanes of a workgroup, each with four channels of a token. */
const lanes = 64;

/** Parameters of a layer besides its projections and its norm. */
export interface DeltaWeights {
  /** [M · L], the taps of a channel side by side. */
  readonly convolution: Tensor;
  /** [Vh] logarithms of what decays are exp(-… · step) of (`A_log`). */
  readonly decayLogs: Tensor;
  /** [Vh] (`dt_bias`) */
  readonly stepBiases: Tensor;
}

/** What a layer keeps of each token. */
export interface DeltaKept {
  /** [R, M] */
  readonly inputs: Tensor;
  /** [R, 2·Vh] decays, then strengths */
  readonly rates: Tensor;
}

const cacheTypeOf = ({ dtype }: Tensor): CacheDtype =>
  cacheDtypes.find((one) => one === dtype) ?? "f32";

function expectKept(
  operation: string,
  { inputs, rates }: DeltaKept,
  shape: DeltaShape,
  rows: number,
): void {
  const dtype = cacheTypeOf(inputs);
  expectShape(operation, "inputs", inputs, [rows, deltaWidths(shape).inputs], dtype);
  expectShape(operation, "rates", rates, [inputs.shape[0], 2 * shape.valueHeads]);
}

function expectWeights(
  operation: string,
  { convolution, decayLogs, stepBiases }: DeltaWeights,
  shape: DeltaShape,
): void {
  expectDeltaShape(operation, shape);
  const { valueHeads, taps } = shape;
  expectShape(operation, "convolution", convolution, [deltaWidths(shape).inputs * taps]);
  expectShape(operation, "decayLogs", decayLogs, [valueHeads]);
  expectShape(operation, "stepBiases", stepBiases, [valueHeads]);
}

/**
 * What a gated DeltaNet layer keeps of tokens: the inputs of its convolution, rounded as the cache is, and how much of a
 * state each head lets go and how strongly it writes.
 *
 * @param projected [T, M + N + 2·Vh]: each row inputs, z, b, a
 * @param kept R = T without `rows`; inputs in `cacheDtype`, or in f32 as training takes them
 * @param cacheDtype what inputs are rounded to, to nearest even; f16 makes those beyond 65504 NaN
 * @param rows the row of `kept` that each token fills, T words of `places` from `at` on; one of R or more writes nothing
 * @throws Error when a tensor's shape is not the documented one
 */
export function deltaInputs(
  gpu: Gpu,
  projected: Tensor,
  weights: DeltaWeights,
  shape: DeltaShape,
  kept: DeltaKept,
  { cacheDtype, rows }: {
    readonly cacheDtype: CacheDtype;
    readonly rows?: { readonly places: Tensor; readonly at: number };
  },
): void {
  const operation = "delta inputs";
  expectWeights(operation, weights, shape);
  const [tokens] = projected.shape;
  const widths = deltaWidths(shape);
  expectShape(operation, "projected", projected, [tokens, widths.projected]);
  const { inputs, rates } = kept;
  expectKept(operation, kept, shape, rows ? -1 : tokens);
  const PACKED = inputs.dtype !== "f32";
  if (PACKED && inputs.dtype !== cacheDtype) {
    throw new Error(`${operation}: ${inputs.dtype} inputs`);
  }
  if (rows) expectShape(operation, "places", rows.places, [rows.at + tokens], "u32");
  const { decayLogs, stepBiases } = weights;
  const heads = shape.valueHeads / 4, channels = widths.inputs / 4;
  gpu.dispatch(
    {
      label: operation,
      code: inputsCode,
      defines: { ROWS: rows !== undefined, CACHE: cacheDtype, PACKED },
    },
    {
      ...{ tokens, channels, heads, width: widths.projected / 4, rows: inputs.shape[0] },
      rowsAt: rows?.at ?? 0,
    },
    { projected, ...(rows ? { places: rows.places } : {}), inputs, rates, decayLogs, stepBiases },
    gpu.grid(Math.ceil(tokens * (channels + heads) / lanes)),
    { bytes: (4 + bytesOf(inputs.dtype)) * tokens * widths.inputs },
  );
}

/** Where inputs lie that tokens look back at. */
export type DeltaPlaces =
  | {
    /** [T, 4] u32 of `attentionSegments`, or of `pagedSegments` beside a page table */
    readonly segments: Tensor;
    /** u32; the inputs lie in the pages of a cache */
    readonly pageTable?: Tensor;
  }
  | {
    /** u32 [S]: tokens of each slot with the current one, whose input is in the cache; 0 = slot not in use */
    readonly lengths: Tensor;
    /** u32 [S, P] */
    readonly pageTable: Tensor;
  };

/** Queries and keys of unit length, and values. */
export interface DeltaHeads {
  /** [T, M] queries (divided by √Dk), keys, values */
  readonly heads: Tensor;
  /** [T, 2·Kh], what queries and keys were multiplied by */
  readonly rstd: Tensor;
}

/**
 * Convolves what was kept, lets it through SiLU and gives queries and keys unit length.
 *
 * @param made is filled
 * @throws Error when a tensor's shape is not the documented one
 */
export function deltaHeads(
  gpu: Gpu,
  inputs: Tensor,
  places: DeltaPlaces,
  weights: Tensor,
  shape: DeltaShape,
  { heads, rstd }: DeltaHeads,
): void {
  const operation = "delta convolution";
  const [tokens, width] = heads.shape;
  expectShape(operation, "heads", heads, [tokens, deltaWidths(shape).inputs]);
  expectShape(operation, "inputs", inputs, [-1, width], cacheTypeOf(inputs));
  expectShape(operation, "weights", weights, [width * shape.taps]);
  expectShape(operation, "rstd", rstd, [tokens, 2 * shape.keyHeads]);
  const isOfSlots = "lengths" in places;
  const { pageTable } = places;
  if (isOfSlots) {
    expectShape(operation, "lengths", places.lengths, [tokens], "u32");
    expectShape(operation, "pageTable", places.pageTable, [tokens, -1], "u32");
  } else {
    expectShape(operation, "segments", places.segments, [tokens, 4], "u32");
    if (pageTable) expectShape(operation, "pageTable", pageTable, [-1], "u32");
  }
  gpu.dispatch(
    {
      label: operation,
      code: convolutionCode,
      defines: {
        ...{ TAPS: shape.taps, PAGE: pageTokens, STORAGE: cacheTypeOf(inputs), GELU: false },
        ...{ SLOTS: isOfSlots, PAGED: !isOfSlots && pageTable !== undefined, BACKWARD: false },
      },
    },
    { tokens, vectors: width / 4, maxPages: isOfSlots ? places.pageTable.shape[1] : 0 },
    {
      inputs,
      ...(isOfSlots ? { lengths: places.lengths } : { segments: places.segments }),
      ...(pageTable ? { pageTable } : {}),
      weights,
      output: heads,
    },
    gpu.grid(Math.ceil(tokens * width / 4 / lanes)),
    { bytes: (4 + bytesOf(inputs.dtype)) * tokens * width },
  );
  const norm = normLaunch(gpu, tokens, shape);
  gpu.dispatch(
    { label: "delta norm", code: normCode, defines: { ...norm.defines, BACKWARD: false } },
    norm.parameters,
    { x: heads, rstd },
    norm.grid,
    { bytes: 16 * tokens * shape.keyHeads * shape.keyDim },
  );
}

function normLaunch(gpu: Gpu, tokens: number, shape: DeltaShape) {
  const { keyHeads, valueHeads, keyDim } = shape;
  const LANES = lanesOfRow(gpu.tuning, 32);
  const rows = tokens * keyHeads * 2;
  return {
    defines: { LANES, WORKGROUP: LANES === 1 ? 16 : LANES },
    parameters: {
      ...{ tokens, heads: keyHeads, sharing: valueHeads / keyHeads, vectors: keyDim / 4 },
      width: deltaWidths(shape).inputs / 4,
    },
    grid: gpu.grid(LANES === 1 ? Math.ceil(rows / 16) : rows),
  };
}

/** What the gradient of a layer's inputs comes from. */
export interface DeltaInputGradients {
  /** [3, T, Vh, Dk] of `deltaRuleBackward`: of queries, then of keys, as each value head has them */
  readonly dHeads: Tensor;
  /** [T, M], of which the values' gradients are there; receives those of the convolution's sums */
  readonly dInputs: Tensor;
  /** [T, 2·Vh]: of the decays' logarithms, then of the strengths */
  readonly slopes: Tensor;
}

/** Gradients that are added to; null when they are not trained. */
export interface DeltaWeightGradients {
  readonly convolution: Tensor | null;
  readonly decayLogs: Tensor | null;
  readonly stepBiases: Tensor | null;
}

/**
 * The gradients of `deltaHeads` and `deltaInputs`; those of weights are added to with tokens in ascending order.
 *
 * @param projected [T, M + N + 2·Vh], what the forward pass read
 * @param kept in f32
 * @param segments [T, 4] u32 of `attentionSegments`
 * @param dProjected like projected; all but z's columns are written
 * @throws Error when a tensor's shape is not the documented one
 */
export function deltaInputsBackward(
  gpu: Gpu,
  { projected, kept, made, segments }: {
    readonly projected: Tensor;
    readonly kept: DeltaKept;
    readonly made: DeltaHeads;
    readonly segments: Tensor;
  },
  weights: DeltaWeights,
  shape: DeltaShape,
  { dHeads, dInputs, slopes }: DeltaInputGradients,
  dProjected: Tensor,
  gradients: DeltaWeightGradients,
): void {
  const operation = "delta inputs backward";
  expectWeights(operation, weights, shape);
  const widths = deltaWidths(shape);
  const [tokens] = projected.shape;
  const { valueHeads, keyDim, taps } = shape;
  expectShape(operation, "projected", projected, [tokens, widths.projected]);
  expectShape(operation, "dProjected", dProjected, projected.shape);
  expectKept(operation, kept, shape, tokens);
  expectShape(operation, "dHeads", dHeads, [3, tokens, valueHeads, keyDim]);
  expectShape(operation, "dInputs", dInputs, [tokens, widths.inputs]);
  expectShape(operation, "slopes", slopes, [tokens, 2 * valueHeads]);
  const norm = normLaunch(gpu, tokens, shape);
  gpu.dispatch(
    { label: "delta norm backward", code: normCode, defines: { ...norm.defines, BACKWARD: true } },
    norm.parameters,
    { x: made.heads, rstd: made.rstd, dHeads, dx: dInputs },
    norm.grid,
    { bytes: 8 * dHeads.size },
  );
  const { inputs, rates } = kept;
  const convolved = { TAPS: taps, PAGE: pageTokens };
  gpu.dispatch(
    {
      label: "delta convolution backward",
      code: convolutionCode,
      defines: {
        ...{ ...convolved, STORAGE: "f32", GELU: false },
        ...{ SLOTS: false, PAGED: false, BACKWARD: true },
      },
    },
    { tokens, vectors: widths.inputs / 4, maxPages: 0 },
    { inputs, segments, weights: weights.convolution, output: dInputs },
    gpu.grid(Math.ceil(dInputs.size / 4 / lanes)),
    { bytes: 12 * dInputs.size },
  );
  gpu.dispatch(
    { label: "delta convolution inputs", code: convolutionBackwardCode, defines: convolved },
    { tokens, vectors: widths.inputs / 4, width: widths.projected / 4 },
    { segments, weights: weights.convolution, dSums: dInputs, dProjected },
    gpu.grid(Math.ceil(dInputs.size / 4 / lanes)),
    { bytes: 8 * dInputs.size },
  );
  if (gradients.convolution) {
    convolutionWeightGradient(gpu, { inputs, segments, taps }, dInputs, gradients.convolution);
  }
  gpu.scope(() => {
    const { decayLogs, stepBiases } = weights;
    const terms = () => gpu.tensor([tokens, valueHeads], "f32", "delta rate terms");
    const decayTerms = terms(), stepTerms = terms();
    gpu.dispatch(
      { label: "delta rates backward", code: ratesBackwardCode, defines: {} },
      { tokens, heads: valueHeads / 4, width: widths.projected / 4 },
      {
        ...{ projected, rates, slopes, decayLogs, stepBiases },
        ...{ dProjected, decayTerms, stepTerms },
      },
      gpu.grid(Math.ceil(tokens * valueHeads / 4 / lanes)),
    );
    const sum = (own: Tensor, target: Tensor | null) => {
      if (target) columnSum(gpu, "delta rate gradient", own, target, null);
    };
    sum(decayTerms, gradients.decayLogs);
    sum(stepTerms, gradients.stepBiases);
  });
}
