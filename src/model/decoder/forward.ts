import type { CacheDtype, Tensor } from "../../gpu/tensor.ts";
import { attentionForward } from "../../kernels/attention/attention.ts";
import { embeddingForward } from "../../kernels/layers/embedding.ts";
import { rmsnormForward } from "../../kernels/layers/rmsnorm.ts";
import { scaled } from "../../kernels/layers/scale.ts";
import { roomForHalfRows } from "../../kernels/products/half_rows.ts";
import { ropeForward, type RopeOptions } from "../../kernels/attention/rope.ts";
import {
  convolutionForward,
  convolutionInputs,
  type ConvolutionWeights,
} from "../../kernels/convolution/short_convolution.ts";
import type { AttentionShape } from "../../kernels/attention/attention_shape.ts";
import { gatedAttention, ungatedQkv } from "./attention_gate.ts";
import { addBranch, type Branch, normedRows } from "./branch.ts";
import { type DeltaActivations, deltaPacked, type DeltaWalks, deltaWalks } from "./delta.ts";
import {
  type FeedForwardActivations,
  feedForwardEnd,
  type FeedForwardInner,
  feedForwardInner,
  innerTensors,
  roomForGateUp,
} from "./feed_forward.ts";
import { linearForward } from "./linear.ts";
import { normTensors, wholeNormed, type WholeNorms } from "./whole_norms.ts";
import type { Layer, Model } from "./model.ts";
import type { PackedBatch } from "./packed_batch.ts";

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
export type MixerActivations = AttentionActivations | ConvolutionActivations | DeltaActivations;

/** Tensors that a layer's forward pass made and its gradient needs. T tokens, C model width. */
export interface LayerActivations<Attention> {
  /** [T, C] residual stream before the layer */
  readonly input: Tensor;
  readonly inputRstd: Tensor;
  readonly inputNormed: Tensor;
  /** [T, (H + 2·KV)·D], of a convolution [T, 3·C], of a DeltaNet [T, M + N + 2·Vh] */
  readonly qkv: Tensor;
  /** [T, (2·H + 2·KV)·D], from which queries, keys and values were taken; null where attention has no gates */
  readonly gatedQkv: Tensor | null;
  /** Null where queries and keys are normed head by head or not at all. */
  readonly wholeNorms: WholeNorms | null;
  readonly attention: Attention;
  /** [T, H·D], of a convolution [T, C], of a DeltaNet [T, N]: what the projection behind it reads */
  readonly mixed: Tensor;
  /** What attention gave before its norm; null where it has none. */
  readonly attentionBranch: Branch | null;
  /** [T, C] residual stream after attention */
  readonly middle: Tensor;
  readonly middleRstd: Tensor;
  readonly middleNormed: Tensor;
  readonly feedForward: FeedForwardActivations;
  /** What the feed-forward block gave before its norm; null where it has none. */
  readonly feedForwardBranch: Branch | null;
}

/**
 * How a layer begins.
 *
 * @param input [T, C]
 * @returns its queries, keys and values [T, (H + 2·KV)·D] before they are rotated, or what it convolves [T, 3·C] or
 *   [T, M + N + 2·Vh], and what they come from
 */
export function layerQkv(
  model: Model,
  layer: Layer,
  input: Tensor,
): {
  readonly normed: { readonly y: Tensor; readonly rstd: Tensor };
  readonly qkv: Tensor;
  readonly gatedQkv: Tensor | null;
  readonly wholeNorms: WholeNorms | null;
} {
  const { gpu, config } = model;
  return gpu.scope(() => {
    const halfRows = roomForHalfRows(gpu, input.shape);
    const normed = normedRows(model, input, layer.inputNorm, { halfRows });
    const given = linearForward(gpu, "qkv", layer.qkv, normed.y, { halfRows });
    const gatedQkv = layer.kind.gated ? given : null;
    const projected = gatedQkv ? ungatedQkv(model, gatedQkv) : given;
    if (config.qkNorm !== "whole" || !layer.queryNorm) {
      return { normed, qkv: projected, gatedQkv, wholeNorms: null };
    }
    const { qkv, norms: wholeNorms } = wholeNormed(model, layer, projected);
    return { normed, qkv, gatedQkv, wholeNorms };
  }, ({ normed, qkv, gatedQkv, wholeNorms }) => [
    ...[normed.y, normed.rstd, qkv],
    ...(gatedQkv ? [gatedQkv] : []),
    ...(wholeNorms ? normTensors(wholeNorms) : []),
  ]);
}

/** A layer before its last projection. */
interface LayerInterior<Attention>
  extends Omit<LayerActivations<Attention>, "feedForward" | "feedForwardBranch"> {
  readonly fed: FeedForwardInner;
}

/**
 * One decoder layer but for its last projection. Prefill, decoding and training differ in where the keys
 * lie and in nothing else, so they share this function, and with it every bit outside attention.
 *
 * @param input [T, C]
 * @param attend makes the attention's output from `qkv`
 * @param gateUp of `roomForGateUp`, filled, or null
 */
function layerInterior<Attention extends { readonly output: Tensor }>(
  model: Model,
  layer: Layer,
  input: Tensor,
  attend: (qkv: Tensor) => Attention,
  gateUp: Tensor | null,
): LayerInterior<Attention> {
  const { gpu } = model;
  const [T] = input.shape;
  const { normed: first, qkv, gatedQkv, wholeNorms } = layerQkv(model, layer, input);
  const attention = attend(qkv);
  const attended = attention.output.reshape(T, attention.output.size / T);
  const mixed = gatedQkv ? gatedAttention(model, attended, gatedQkv) : attended;
  const { attentionOutput: linear, attentionNorm: norm } = layer;
  const { sum: middle, branch: attentionBranch } = addBranch(
    model,
    norm,
    (residual) => linearForward(gpu, "attention output", linear, mixed, { residual }),
    input,
  );
  const { second, fed } = gpu.scope(() => {
    const halfRows = roomForHalfRows(gpu, middle.shape);
    const second = normedRows(model, middle, layer.postNorm, { halfRows });
    const fed = feedForwardInner(model, layer, second.y, gateUp, halfRows);
    return { second, fed };
  }, ({ second, fed }) => [second.y, second.rstd, ...innerTensors(fed)]);
  return {
    input,
    inputRstd: first.rstd,
    inputNormed: first.y,
    qkv,
    gatedQkv,
    wholeNorms,
    attention,
    mixed,
    attentionBranch,
    middle,
    middleRstd: second.rstd,
    middleNormed: second.y,
    fed,
  };
}

/**
 * A layer and what its gradient needs. Call inside a `gpu.scope`.
 *
 * @param isEndWanted whether the residual stream after it is
 */
function layerActivations<Attention extends { readonly output: Tensor }>(
  model: Model,
  layer: Layer,
  input: Tensor,
  attend: (qkv: Tensor) => Attention,
  isEndWanted: boolean,
): { readonly made: LayerActivations<Attention>; readonly sum: Tensor | null } {
  const gateUp = roomForGateUp(model, layer, input.shape[0]);
  const { fed, ...made } = layerInterior(model, layer, input, attend, gateUp);
  const { sum, branch: feedForwardBranch } = isEndWanted || layer.feedForwardNorm
    ? feedForwardEnd(model, layer, fed, made.middle)
    : { sum: null, branch: null };
  const { routing } = fed;
  if (routing) model.gpu.release(fed.inner);
  const feedForward = { gateUp, inner: routing ? null : fed.inner, routing };
  return { made: { ...made, feedForward, feedForwardBranch }, sum };
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
  const { fed, middle } = layerInterior(model, layer, input, attend, null);
  return feedForwardEnd(model, layer, fed, middle).sum;
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
  walks: DeltaWalks | null,
): (qkv: Tensor) => MixerActivations {
  if (layer.delta && walks) return deltaPacked(model, layer, batch, walks);
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
  const { heads, kvHeads, headDim, qkNorm, normEpsilon: epsilon, norms: { fromOne } } =
    model.config;
  const norm = qkNorm === true && queryNorm && keyNorm
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
  const walks = deltaWalks(model, batch);
  let x = embed(model, batch.tokens);
  for (const layer of model.layers) {
    const input = x;
    const attend = mixPacked(model, layer, batch, walks);
    if (checkpointing) {
      x = gpu.scope(() => layerForward(model, layer, input, attend), (kept) => [kept]);
      layers.push(() => layerActivations(model, layer, input, attend, false).made);
    } else {
      const { made, sum } = layerActivations(model, layer, input, attend, true);
      if (!sum) throw new Error("a layer without its end");
      x = sum;
      layers.push(() => made);
    }
  }
  const { hidden, rstd } = finalNorm(model, x);
  return { layers, last: x, lastRstd: rstd, hidden };
}

/** Runs a packed batch and keeps only the result: [T, C] after the last norm. */
export function forwardOnly(model: Model, batch: PackedBatch): Tensor {
  const { gpu } = model;
  const walks = deltaWalks(model, batch);
  let x = embed(model, batch.tokens);
  for (const layer of model.layers) {
    const attend = mixPacked(model, layer, batch, walks);
    const output = gpu.scope(() => layerForward(model, layer, x, attend), (kept) => [kept]);
    gpu.release(x);
    x = output;
  }
  const { hidden, rstd } = finalNorm(model, x);
  gpu.release(x, rstd);
  if (walks) gpu.release(walks.walks);
  return hidden;
}
