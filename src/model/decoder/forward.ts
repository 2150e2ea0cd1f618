import type { CacheDtype, Tensor } from "../../gpu/tensor.ts";
import { attentionForward } from "../../kernels/attention/attention.ts";
import { embeddingForward } from "../../kernels/layers/embedding.ts";
import { rmsnormForward } from "../../kernels/layers/rmsnorm.ts";
import { scaled } from "../../kernels/layers/scale.ts";
import { type HalfRows, roomForHalfRows } from "../../kernels/products/half_rows.ts";
import { ropeForward, type RopeOptions } from "../../kernels/attention/rope.ts";
import {
  convolutionForward,
  convolutionInputs,
  type ConvolutionWeights,
} from "../../kernels/convolution/short_convolution.ts";
import type { AttentionShape } from "../../kernels/attention/attention_shape.ts";
import { gatedForward, type Linear, linearForward } from "./linear.ts";
import type { Layer, Model } from "./model.ts";
import type { PackedBatch } from "./packed_batch.ts";
import type { Parameter } from "./parameters.ts";

/** Tensors that a layer's attention made and its gradient needs. */
export interface AttentionActivations {
  /** [T, H, D] rotated */
  readonly queries: Tensor;
  /** [T, KV, D] rotated */
  readonly keys: Tensor;
  /** [T, KV, D] */
  readonly values: Tensor;
  /** [T, H, D] */
  readonly output: Tensor;
  /** [2, T, H], see `attentionForward` */
  readonly statistics: Tensor;
}

/** Tensors that a layer's convolution made and its gradient needs. */
export interface ConvolutionActivations {
  /** [T, C] of `convolutionInputs` */
  readonly inputs: Tensor;
  /** [T, C] */
  readonly output: Tensor;
}

/** What a layer mixes tokens with, as it was made of a packed batch. */
export type MixerActivations = AttentionActivations | ConvolutionActivations;

/** Tensors that a layer's forward pass made and its gradient needs. T tokens, C model width. */
export interface LayerActivations<Attention> {
  /** [T, C] residual stream before the layer */
  readonly input: Tensor;
  readonly inputRstd: Tensor;
  readonly inputNormed: Tensor;
  /** [T, (H + 2·KV)·D], or of a convolution [T, 3·C] */
  readonly qkv: Tensor;
  readonly attention: Attention;
  /** What attention gave before its norm; null where it has none. */
  readonly attentionBranch: Branch | null;
  /** [T, C] residual stream after attention */
  readonly middle: Tensor;
  readonly middleRstd: Tensor;
  readonly middleNormed: Tensor;
  /** [T, 2·I] */
  readonly gateUp: Tensor;
  /** [T, I] */
  readonly inner: Tensor;
  /** What the feed-forward block gave before its norm; null where it has none. */
  readonly feedForwardBranch: Branch | null;
}

/** What a block gives, with a norm of its own before it is added to the residual stream. */
export interface Branch {
  /** [T, C] before the norm */
  readonly x: Tensor;
  /** [T] */
  readonly rstd: Tensor;
}

/**
 * A norm of the model.
 *
 * @param residual added to the rows
 * @param halfRows of the normed rows, filled too
 * @returns the normed rows and their rstd
 */
function normedRows(
  { gpu, config }: Model,
  x: Tensor,
  { weight }: Parameter,
  { residual, halfRows = null }: {
    readonly residual?: Tensor;
    readonly halfRows?: HalfRows | null;
  } = {},
) {
  const y = gpu.tensor(x.shape, "f32", residual ? "residual" : "normed");
  const rstd = gpu.tensor([x.shape[0]], "f32", "rstd");
  const { normEpsilon, norms: { fromOne } } = config;
  rmsnormForward(gpu, x, weight, y, rstd, normEpsilon, { fromOne, residual, halfRows });
  return { y, rstd };
}

/**
 * A block's last projection, and its norm where it has one.
 *
 * @param x [T, I]
 * @param residual [T, C]
 * @returns the residual stream after the block [T, C]
 */
function addBranch(
  model: Model,
  label: string,
  { linear, norm }: { readonly linear: Linear; readonly norm: Parameter | null },
  x: Tensor,
  residual: Tensor,
): { readonly sum: Tensor; readonly branch: Branch | null } {
  if (!norm) {
    return { sum: linearForward(model.gpu, label, linear, x, { residual }), branch: null };
  }
  const given = linearForward(model.gpu, label, linear, x);
  const { y, rstd } = normedRows(model, given, norm, { residual });
  return { sum: y, branch: { x: given, rstd } };
}

/**
 * How a layer begins.
 *
 * @param input [T, C]
 * @returns its queries, keys and values [T, (H + 2·KV)·D] before they are rotated, or what it convolves [T, 3·C], and
 *   what they come from
 */
export function layerQkv(
  model: Model,
  layer: Layer,
  input: Tensor,
): { readonly normed: { readonly y: Tensor; readonly rstd: Tensor }; readonly qkv: Tensor } {
  const { gpu } = model;
  return gpu.scope(() => {
    const halfRows = roomForHalfRows(gpu, input.shape);
    const normed = normedRows(model, input, layer.inputNorm, { halfRows });
    return { normed, qkv: linearForward(gpu, "qkv", layer.qkv, normed.y, { halfRows }) };
  }, ({ normed, qkv }) => [normed.y, normed.rstd, qkv]);
}

/**
 * One decoder layer but for its last projection. Prefill, decoding and training differ in where the keys
 * lie and in nothing else, so they share this function, and with it every bit outside attention.
 *
 * @param input [T, C]
 * @param attend makes the attention's output from `qkv`
 * @param gateUp [T, 2·I] filled, or null
 */
function layerInterior<Attention extends { readonly output: Tensor }>(
  model: Model,
  layer: Layer,
  input: Tensor,
  attend: (qkv: Tensor) => Attention,
  gateUp: Tensor | null,
): Omit<LayerActivations<Attention>, "gateUp" | "feedForwardBranch"> {
  const { gpu, config } = model;
  const [T] = input.shape;
  const { normed: first, qkv } = layerQkv(model, layer, input);
  const attention = attend(qkv);
  const attended = attention.output.reshape(T, attention.output.size / T);
  const { attentionOutput: linear, attentionNorm: norm } = layer;
  const { sum: middle, branch: attentionBranch } = addBranch(
    model,
    "attention output",
    { linear, norm },
    attended,
    input,
  );
  const { second, inner } = gpu.scope(() => {
    const halfRows = roomForHalfRows(gpu, middle.shape);
    const second = normedRows(model, middle, layer.postNorm, { halfRows });
    const options = { kept: gateUp, activation: config.activation, halfRows };
    const inner = gatedForward(gpu, "gate and up", layer.gateUp, second.y, options);
    return { second, inner };
  }, ({ second, inner }) => [second.y, second.rstd, inner]);
  return {
    input,
    inputRstd: first.rstd,
    inputNormed: first.y,
    qkv,
    attention,
    attentionBranch,
    middle,
    middleRstd: second.rstd,
    middleNormed: second.y,
    inner,
  };
}

/** Activations of a layer up to its last projection, for its gradient. */
function layerActivations<Attention extends { readonly output: Tensor }>(
  model: Model,
  layer: Layer,
  input: Tensor,
  attend: (qkv: Tensor) => Attention,
): Omit<LayerActivations<Attention>, "feedForwardBranch"> {
  const { gpu, config: { intermediateSize } } = model;
  const gateUp = gpu.tensor([input.shape[0], 2 * intermediateSize], "f32", "gate and up");
  return { ...layerInterior(model, layer, input, attend, gateUp), gateUp };
}

/** A layer's last projection. @returns the residual stream after the layer [T, C] */
function layerEnd(
  model: Model,
  { down: linear, feedForwardNorm: norm }: Layer,
  { inner, middle }: { readonly inner: Tensor; readonly middle: Tensor },
): { readonly sum: Tensor; readonly branch: Branch | null } {
  return addBranch(model, "down", { linear, norm }, inner, middle);
}

/**
 * One decoder layer of which only the result is wanted. Call inside a `gpu.scope`.
 *
 * @param input [T, C]
 * @param attend makes the attention's output from `qkv`
 * @returns [T, C] the residual stream after it
 */
export function layerForward(
  model: Model,
  layer: Layer,
  input: Tensor,
  attend: (qkv: Tensor) => { readonly output: Tensor },
): Tensor {
  return layerEnd(model, layer, layerInterior(model, layer, input, attend, null)).sum;
}

/** Embeds tokens. @returns [T, C] */
export function embed(model: Model, tokens: Tensor): Tensor {
  const output = model.gpu.tensor([tokens.shape[0], model.config.hiddenSize], "f32", "residual");
  const tiles = model.embedding.map(({ firstRow, weight }) => ({ firstRow, rows: weight }));
  embeddingForward(model.gpu, tiles, tokens, output);
  return inPlace(model, output, model.config.scales.embedding);
}

/** A tensor times a factor, which takes its place. */
function inPlace({ gpu }: Model, x: Tensor, factor: number): Tensor {
  if (factor === 1) return x;
  const product = scaled(gpu, x, factor);
  gpu.release(x);
  return product;
}

/** The last norm. @returns the normed rows [T, C], times what scales logits, and their rstd [T] */
export function finalNorm(model: Model, x: Tensor): { hidden: Tensor; rstd: Tensor } {
  const hidden = model.gpu.tensor(x.shape, "f32", "hidden");
  const rstd = model.gpu.tensor([x.shape[0]], "f32", "rstd");
  const { normEpsilon, norms: { fromOne } } = model.config;
  rmsnormForward(model.gpu, x, model.finalNorm.weight, hidden, rstd, normEpsilon, { fromOne });
  return { hidden: inPlace(model, hidden, model.config.scales.logits), rstd };
}

/** Mixes the tokens of each sequence of a packed batch. */
function mixPacked(
  model: Model,
  layer: Layer,
  batch: PackedBatch,
): (qkv: Tensor) => MixerActivations {
  return layer.convolution
    ? convolvePacked(model, layer, batch)
    : attendPacked(model, layer, batch);
}

function convolvePacked({ gpu }: Model, layer: Layer, { size, segments }: PackedBatch) {
  const weights = convolutionWeights(layer);
  return (projected: Tensor): ConvolutionActivations => {
    const shape = [size, projected.shape[1] / 3];
    const inputs = gpu.tensor(shape, "f32", "convolution inputs");
    convolutionInputs(gpu, projected, inputs, gpu);
    const output = gpu.tensor(shape, "f32", "convolution");
    convolutionForward(gpu, projected, { inputs, segments }, weights, output);
    return { inputs, output };
  };
}

/** @throws Error when the layer attends */
export function convolutionWeights({ convolution, kind: { taps } }: Layer): ConvolutionWeights {
  if (!convolution || taps === undefined) throw new Error("a layer without a convolution");
  return { weight: convolution.weight, taps };
}

/** Rotates queries and keys of a packed batch and attends within each sequence. */
function attendPacked(model: Model, layer: Layer, batch: PackedBatch) {
  const { gpu, config } = model;
  const { heads, kvHeads, headDim } = config;
  const T = batch.size;
  return (qkv: Tensor): AttentionActivations => {
    const queries = gpu.tensor([T, heads, headDim], "f32", "queries");
    const keys = gpu.tensor([T, kvHeads, headDim], "f32", "keys");
    const values = gpu.tensor([T, kvHeads, headDim], "f32", "values");
    const options = ropeOptions(model, layer, batch.longest);
    ropeForward(gpu, qkv, batch.positions, { queries, keys, values }, options);
    const output = gpu.tensor([T, heads, headDim], "f32", "attention");
    const statistics = gpu.tensor([2, T, heads], "f32", "attention statistics");
    attentionForward(
      gpu,
      { queries, keys, values, segments: batch.segments, attendedRows: batch.attendedRows },
      { output, statistics },
      attentionShape(model, layer),
    );
    return { queries, keys, values, output, statistics };
  };
}

/**
 * Options of the rotary kernels for a layer.
 *
 * @param positions how many they read of at most
 */
export function ropeOptions(
  model: Model,
  { queryNorm, keyNorm, kind: { rotation } }: Layer,
  positions: number,
): RopeOptions & { readonly cacheDtype: CacheDtype } {
  const { heads, kvHeads, headDim, normEpsilon: epsilon, norms: { fromOne } } = model.config;
  const norm = queryNorm && keyNorm
    ? { queryNorm: queryNorm.weight, keyNorm: keyNorm.weight, epsilon, fromOne }
    : undefined;
  const { cacheDtype } = model.gpu;
  const table = model.rotations.upTo(rotation, positions);
  return { heads, kvHeads, headDim, rotated: rotation.size, table, norm, cacheDtype };
}

/** Shape of a layer's attention, as the kernels take it. */
export function attentionShape(model: Model, { kind: { window } }: Layer): AttentionShape {
  const { heads, kvHeads, headDim, scales, caps: { attention: cap } } = model.config;
  const scale = scales.attention ?? 1 / Math.sqrt(headDim);
  return { heads, kvHeads, headDim, scale, window, cap };
}

/** Everything the backward pass of a whole model needs. */
export interface ModelActivations {
  /** Activations of each layer; with gradient checkpointing the call computes them again. */
  readonly layers: readonly (() => LayerActivations<MixerActivations>)[];
  /** [T, C] residual stream before the last norm */
  readonly last: Tensor;
  readonly lastRstd: Tensor;
  /** [T, C] after the last norm */
  readonly hidden: Tensor;
}

/**
 * Runs a packed batch and keeps what the backward pass needs. Call inside a `gpu.scope`.
 *
 * @param checkpointing keeps each layer's input alone (gradient checkpointing, Chen et al. 2016): the
 *   backward pass computes the layer again, with the same bits
 */
export function forwardForTraining(
  model: Model,
  batch: PackedBatch,
  checkpointing = false,
): ModelActivations {
  const { gpu } = model;
  const layers: (() => LayerActivations<MixerActivations>)[] = [];
  let x = embed(model, batch.tokens);
  for (const layer of model.layers) {
    const input = x;
    const attend = mixPacked(model, layer, batch);
    const activations = () => layerActivations(model, layer, input, attend);
    if (checkpointing) {
      x = gpu.scope(() => layerForward(model, layer, input, attend), (kept) => [kept]);
      layers.push(() => {
        const made = activations();
        const end = layer.feedForwardNorm ? layerEnd(model, layer, made) : null;
        return { ...made, feedForwardBranch: end && end.branch };
      });
    } else {
      const made = activations();
      const { sum, branch: feedForwardBranch } = layerEnd(model, layer, made);
      x = sum;
      layers.push(() => ({ ...made, feedForwardBranch }));
    }
  }
  const { hidden, rstd } = finalNorm(model, x);
  return { layers, last: x, lastRstd: rstd, hidden };
}

/** Runs a packed batch and keeps only the result: [T, C] after the last norm. */
export function forwardOnly(model: Model, batch: PackedBatch): Tensor {
  const { gpu } = model;
  let x = embed(model, batch.tokens);
  for (const layer of model.layers) {
    const attend = mixPacked(model, layer, batch);
    const output = gpu.scope(() => layerForward(model, layer, x, attend), (kept) => [kept]);
    gpu.release(x);
    x = output;
  }
  const { hidden, rstd } = finalNorm(model, x);
  gpu.release(x, rstd);
  return hidden;
}
