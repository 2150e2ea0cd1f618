import type { Gpu } from "../../gpu/gpu.ts";
import { bytesOf, type CacheDtype, cacheDtypes, type Tensor } from "../../gpu/tensor.ts";
import attention_key_row from "../attention/parts/attention_key_row.wgsl" with { type: "text" };
import { pageTokens } from "../attention/attention_shape.ts";
import { compose } from "../parts/compose.ts";
import { expectShape } from "../parts/expect_shape.ts";
import convolution_gathered from "./parts/convolution_gathered.wgsl" with { type: "text" };
import convolution_lane from "./parts/convolution_lane.wgsl" with { type: "text" };
import convolution_weight from "./parts/convolution_weight.wgsl" with { type: "text" };
import backwardText from "./short_convolution_backward.wgsl" with { type: "text" };
import decodeText from "./short_convolution_decode.wgsl" with { type: "text" };
import forwardText from "./short_convolution.wgsl" with { type: "text" };
import gradientText from "./short_convolution_weight_gradient.wgsl" with { type: "text" };
import inputsText from "./short_convolution_inputs.wgsl" with { type: "text" };

/** WGSL parts of causal convolutions. */
export const convolutionParts = {
  attention_key_row,
  convolution_gathered,
  convolution_lane,
  convolution_weight,
};
const [inputsCode, forwardCode, decodeCode, backwardCode, gradientCode] = [
  inputsText,
  forwardText,
  decodeText,
  backwardText,
  gradientText,
].map((text) => compose(text, convolutionParts));

/** Lanes of a workgroup, each with four channels of a token. */
const lanes = 64;

/** Weights of C channels with L taps, the first for the input that lies furthest back. */
export interface ConvolutionWeights {
  /** [C · L], the taps of a channel side by side. */
  readonly weight: Tensor;
  /** L */
  readonly taps: number;
}

/** Where tokens and the inputs that they look back at lie. */
export interface ConvolutionPlaces {
  /** [R, C] of `convolutionInputs` */
  readonly inputs: Tensor;
  /** [T, 4] u32 of `attentionSegments`, or of `pagedSegments` beside a page table */
  readonly segments: Tensor;
  /** The inputs lie in the pages of a cache. */
  readonly pageTable?: Tensor;
}

/** Checks [T, 3·C], a row of which is b, c and x. @returns T and C */
function expectProjected(operation: string, projected: Tensor): readonly [number, number] {
  const [tokens, width] = projected.shape;
  expectShape(operation, "projected", projected, [tokens, width]);
  const channels = width / 3;
  if (channels % 4 !== 0) {
    throw new Error(
      `${operation}: projected has ${width} columns, expected three times a multiple of 4`,
    );
  }
  return [tokens, channels];
}

function expectWeights(
  operation: string,
  { weight, taps }: ConvolutionWeights,
  channels: number,
): void {
  expectShape(operation, "weight", weight, [channels * taps]);
}

/**
 * What a gated short convolution is of: b · x of each token, rounded as the cache is.
 *
 * @param projected [T, 3·C]: each row b, c, x
 * @param inputs [R, C] in `cacheDtype`, or in f32 as training takes them; R = T without `rows`
 * @param cacheDtype what they are rounded to, to nearest even; f16 makes those beyond 65504 NaN
 * @param rows the row of `inputs` that each token fills, T words of `places` from `at` on; one of R or more writes nothing
 * @throws Error when a tensor's shape is not the documented one
 */
export function convolutionInputs(
  gpu: Gpu,
  projected: Tensor,
  inputs: Tensor,
  { cacheDtype, rows }: {
    readonly cacheDtype: CacheDtype;
    readonly rows?: { readonly places: Tensor; readonly at: number };
  },
): void {
  const operation = "convolution inputs";
  const [tokens, channels] = expectProjected(operation, projected);
  const stored = inputs.dtype === "f32" ? "f32" : cacheDtype;
  const count = rows ? inputs.shape[0] : tokens;
  expectShape(operation, "inputs", inputs, [count, channels], stored);
  if (rows) expectShape(operation, "places", rows.places, [rows.at + tokens], "u32");
  const defines = { ROWS: rows !== undefined, CACHE: cacheDtype, PACKED: stored !== "f32" };
  const size = tokens * channels;
  gpu.dispatch(
    { label: operation, code: inputsCode, defines },
    { tokens, vectors: channels / 4, rows: count, rowsAt: rows?.at ?? 0 },
    { projected, ...(rows ? { places: rows.places } : {}), inputs },
    gpu.grid(Math.ceil(size / 4 / lanes)),
    { bytes: (8 + bytesOf(stored)) * size },
  );
}

/**
 * output[t] = c[t] · Σ_k weight[k] · input[t − (L − 1) + k], each channel by itself; before a sequence begins there is
 * nothing (the operator of LFM2).
 *
 * @param projected [T, 3·C]: each row b, c, x
 * @param output [T, C]
 * @throws Error when a tensor's shape is not the documented one
 */
export function convolutionForward(
  gpu: Gpu,
  projected: Tensor,
  places: ConvolutionPlaces,
  weights: ConvolutionWeights,
  output: Tensor,
): void {
  const operation = "convolution";
  const [tokens, channels] = expectProjected(operation, projected);
  const STORAGE = expectPlaces(operation, places, tokens, channels);
  expectWeights(operation, weights, channels);
  expectShape(operation, "output", output, [tokens, channels]);
  const { inputs, segments, pageTable } = places;
  const PAGED = pageTable !== undefined;
  const defines = { TAPS: weights.taps, PAGE: pageTokens, STORAGE, PAGED, BACKWARD: false };
  gpu.dispatch(
    { label: operation, code: forwardCode, defines },
    { tokens, vectors: channels / 4 },
    {
      projected,
      inputs,
      segments,
      weights: weights.weight,
      output,
      ...(PAGED ? { pageTable } : {}),
    },
    gpu.grid(Math.ceil(tokens * channels / 4 / lanes)),
    { bytes: (8 + bytesOf(STORAGE)) * tokens * channels },
  );
}

function expectPlaces(
  operation: string,
  { inputs, segments, pageTable }: ConvolutionPlaces,
  tokens: number,
  channels: number,
): CacheDtype {
  const dtype = cacheDtypes.find((dtype) => dtype === inputs.dtype) ?? "f32";
  expectShape(operation, "inputs", inputs, [-1, channels], dtype);
  expectShape(operation, "segments", segments, [tokens, 4], "u32");
  if (pageTable) expectShape(operation, "pageTable", pageTable, [-1], "u32");
  return dtype;
}

/**
 * `convolutionForward` for one new token of every slot, whose input it writes to the cache: the same bits.
 *
 * @param projected [S, 3·C]
 * @param cache inputs [pages · pageTokens, C]; pageTable [S, P] u32: the pages of each slot in the order of its tokens;
 *   lengths [S] u32: tokens of each slot with the current one, 0 = slot not in use
 * @param output [S, C]; slots of length 0 receive zeros
 * @throws Error when a tensor's shape is not the documented one
 */
export function convolutionDecode(
  gpu: Gpu,
  projected: Tensor,
  { inputs, pageTable, lengths }: {
    readonly inputs: Tensor;
    readonly pageTable: Tensor;
    readonly lengths: Tensor;
  },
  weights: ConvolutionWeights,
  output: Tensor,
): void {
  const operation = "convolution decode";
  const [slots, channels] = expectProjected(operation, projected);
  const STORAGE = cacheDtypes.find((dtype) => dtype === inputs.dtype) ?? "f32";
  expectShape(operation, "inputs", inputs, [-1, channels], STORAGE);
  expectShape(operation, "pageTable", pageTable, [slots, -1], "u32");
  expectShape(operation, "lengths", lengths, [slots], "u32");
  expectWeights(operation, weights, channels);
  expectShape(operation, "output", output, [slots, channels]);
  const { weight, taps: TAPS } = weights;
  gpu.dispatch(
    { label: operation, code: decodeCode, defines: { TAPS, PAGE: pageTokens, STORAGE } },
    { tokens: slots, vectors: channels / 4, maxPages: pageTable.shape[1] },
    { projected, inputs, pageTable, lengths, weights: weight, output },
    gpu.grid(Math.ceil(slots * channels / 4 / lanes)),
    { bytes: (16 + TAPS * bytesOf(STORAGE)) * slots * channels },
  );
}

/**
 * The gradients of `convolutionForward` and `convolutionInputs`.
 *
 * @param projected [T, 3·C], what the forward pass read
 * @param places without pages, inputs in f32
 * @param dOutput [T, C]
 * @param dProjected [T, 3·C]
 * @param weightGradient [C · L], added to with tokens in ascending order; null when it is not trained
 * @throws Error when a tensor's shape is not the documented one
 */
export function convolutionBackward(
  gpu: Gpu,
  projected: Tensor,
  places: Omit<ConvolutionPlaces, "pageTable">,
  weights: ConvolutionWeights,
  { dOutput, dProjected, weightGradient }: {
    readonly dOutput: Tensor;
    readonly dProjected: Tensor;
    readonly weightGradient: Tensor | null;
  },
): void {
  const operation = "convolution backward";
  const [tokens, channels] = expectProjected(operation, projected);
  expectPlaces(operation, places, tokens, channels);
  expectWeights(operation, weights, channels);
  expectShape(operation, "dOutput", dOutput, [tokens, channels]);
  expectShape(operation, "dProjected", dProjected, projected.shape);
  const { inputs, segments } = places;
  const { weight, taps: TAPS } = weights;
  const sizes = { tokens, vectors: channels / 4 };
  const groups = gpu.grid(Math.ceil(tokens * channels / 4 / lanes));
  gpu.scope(() => {
    const dSums = gpu.tensor([tokens, channels], "f32", "convolution sum gradient");
    const shape = { TAPS, PAGE: pageTokens, STORAGE: "f32", PAGED: false };
    gpu.dispatch(
      { label: operation, code: forwardCode, defines: { ...shape, BACKWARD: true } },
      sizes,
      { projected, inputs, segments, weights: weight, dOutput, dProjected, dSums },
      groups,
      { bytes: 20 * tokens * channels },
    );
    gpu.dispatch(
      { label: `${operation} inputs`, code: backwardCode, defines: { TAPS } },
      sizes,
      { projected, segments, weights: weight, dSums, dProjected },
      groups,
      { bytes: 20 * tokens * channels },
    );
    if (weightGradient) {
      convolutionWeightGradient(gpu, { inputs, segments, taps: TAPS }, dSums, weightGradient);
    }
  });
}

/**
 * gradient[k] += Σ_t dSums[t] · input[t − (L − 1) + k], tokens in ascending order.
 *
 * @param places inputs [T, C] in f32; segments of `attentionSegments`
 * @param dSums [T, C]
 * @param gradient [C · L]
 * @throws Error when a tensor's shape is not the documented one
 */
export function convolutionWeightGradient(
  gpu: Gpu,
  { inputs, segments, taps }: {
    readonly inputs: Tensor;
    readonly segments: Tensor;
    readonly taps: number;
  },
  dSums: Tensor,
  gradient: Tensor,
): void {
  const operation = "convolution weight gradient";
  const [tokens, channels] = dSums.shape;
  expectPlaces(operation, { inputs, segments }, tokens, channels);
  expectShape(operation, "gradient", gradient, [channels * taps]);
  const defines = { TAPS: taps, PAGE: pageTokens, STORAGE: "f32", PAGED: false };
  gpu.dispatch(
    { label: operation, code: gradientCode, defines },
    { tokens, vectors: channels / 4 },
    { inputs, segments, dSums, gradient },
    gpu.grid(Math.ceil(channels / 4 / 8)),
    { bytes: 8 * tokens * channels },
  );
}
