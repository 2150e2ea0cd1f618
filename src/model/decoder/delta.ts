/** A gated DeltaNet in attention's place (Qwen3.5). T tokens, M inputs of its convolution, N values. */

import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import {
  type DeltaHeads,
  deltaHeads,
  deltaInputs,
  deltaInputsBackward,
  type DeltaKept,
} from "../../kernels/delta/delta_inputs.ts";
import {
  deltaRuleBackward,
  deltaRuleForward,
  type DeltaRuleMade,
} from "../../kernels/delta/delta_rule.ts";
import { type DeltaShape, deltaWidths } from "../../kernels/delta/delta_shape.ts";
import { packWalks, walkArray, walkWords } from "../../kernels/delta/delta_walks.ts";
import {
  type Gated,
  outputGateBackward,
  outputGateForward,
} from "../../kernels/layers/output_gate.ts";
import { rmsnormBackward, rmsnormForward } from "../../kernels/layers/rmsnorm.ts";
import type { DeltaLayer, Layer, Model } from "./model.ts";
import type { PackedBatch } from "./packed_batch.ts";

/** Tensors that a layer's DeltaNet made and its gradient needs. */
export interface DeltaActivations {
  readonly kept: DeltaKept;
  readonly made: DeltaHeads;
  readonly rule: DeltaRuleMade;
  /** [T, N] */
  readonly values: Tensor;
  /** [T, N] */
  readonly normed: Tensor;
  /** [T · Vh] */
  readonly rstd: Tensor;
  /** [T, N] */
  readonly output: Tensor;
}

/** The walks of a pack on the GPU, which all layers share. */
export interface DeltaWalks {
  /** u32 [W, 8] */
  readonly walks: Tensor;
  readonly beginnings: number;
  readonly states: number;
}

/** Null where no layer has a DeltaNet. */
export function deltaWalks({ gpu, layers }: Model, { lengths }: PackedBatch): DeltaWalks | null {
  if (layers.every(({ delta }) => delta === null)) return null;
  const { walks, beginnings, states } = packWalks(lengths);
  const words = walkArray(walks);
  return {
    walks: gpu.from(words, [walks.length, walkWords], "u32", "delta walks"),
    beginnings,
    states,
  };
}

/** @throws Error when the layer has none */
export function deltaOf({ delta }: Layer): DeltaLayer {
  if (!delta) throw new Error("a layer without a DeltaNet");
  return delta;
}

/** Empty tensors for the queries, keys and values of T rows. */
export function roomForHeads(gpu: Gpu, shape: DeltaShape, rows: number): DeltaHeads {
  return {
    heads: gpu.tensor([rows, deltaWidths(shape).inputs], "f32", "delta heads"),
    rstd: gpu.tensor([rows, 2 * shape.keyHeads], "f32", "delta rstd"),
  };
}

/** z's places among what the projections give. */
function gated(shape: DeltaShape, normed: Tensor, projected: Tensor): Gated {
  const { inputs, values } = deltaWidths(shape);
  const places = { first: inputs, run: values, distance: values };
  return { x: normed, gates: projected, places, silu: true };
}

/**
 * The end of a DeltaNet: each head's values normed, times SiLU of z.
 *
 * @param values [T, N]
 * @param projected [T, M + N + 2·Vh]
 * @returns what the last projection reads [T, N], and what it comes from
 */
export function deltaEnd(
  { gpu, config: { normEpsilon } }: Model,
  layer: Layer,
  values: Tensor,
  projected: Tensor,
): Pick<DeltaActivations, "normed" | "rstd" | "output"> {
  const { shape, norm: { weight } } = deltaOf(layer);
  const { valueDim } = shape;
  const rows = values.size / valueDim;
  const normed = gpu.tensor(values.shape, "f32", "normed values");
  const rstd = gpu.tensor([rows], "f32", "rstd");
  const perHead = (tensor: Tensor) => tensor.reshape(rows, valueDim);
  rmsnormForward(gpu, perHead(values), weight, perHead(normed), rstd, normEpsilon);
  const output = gpu.tensor(values.shape, "f32", "gated values");
  outputGateForward(gpu, gated(shape, normed, projected), output);
  return { normed, rstd, output };
}

/** Mixes the tokens of each sequence of a packed batch. */
export function deltaPacked(
  model: Model,
  layer: Layer,
  { size, segments }: PackedBatch,
  { walks, beginnings, states: count }: DeltaWalks,
): (projected: Tensor) => DeltaActivations {
  const { gpu } = model;
  const { shape, weights } = deltaOf(layer);
  const { inputs: M, values: N } = deltaWidths(shape);
  const { valueHeads, keyDim, valueDim } = shape;
  return (projected) => {
    const kept = {
      inputs: gpu.tensor([size, M], "f32", "delta inputs"),
      rates: gpu.tensor([size, 2 * valueHeads], "f32", "delta rates"),
    };
    deltaInputs(gpu, projected, weights, shape, kept, gpu);
    const made = roomForHeads(gpu, shape, size);
    deltaHeads(gpu, kept.inputs, { segments }, weights.convolution, shape, made);
    const states = count > 0
      ? gpu.tensor([count, valueHeads, keyDim, valueDim], "f32", "delta states")
      : null;
    const output = gpu.tensor([size, N], "f32", "delta values");
    const errors = gpu.tensor([2, size, N], "f32", "delta errors");
    const rows = { heads: made.heads, rates: kept.rates, walks };
    const into = { states, output, errors };
    const others = walks.shape[0] - beginnings;
    deltaRuleForward(gpu, rows, shape, { first: 0, count: beginnings }, into);
    deltaRuleForward(gpu, rows, shape, { first: beginnings, count: others }, into);
    const rule = { ...rows, errors, states, beginnings };
    return { kept, made, rule, values: output, ...deltaEnd(model, layer, output, projected) };
  };
}

/**
 * The gradients of `deltaPacked`: those of the weights are added to.
 *
 * @param projected [T, M + N + 2·Vh], what the forward pass read
 * @param dOutput [T, N]
 * @param dProjected like projected, filled
 */
export function deltaBackward(
  { gpu }: Model,
  layer: Layer,
  { kept, made, rule, values, normed, rstd }: DeltaActivations,
  { segments }: PackedBatch,
  { projected, dOutput, dProjected }: {
    readonly projected: Tensor;
    readonly dOutput: Tensor;
    readonly dProjected: Tensor;
  },
): void {
  const { shape, weights, gradients, norm } = deltaOf(layer);
  const { valueHeads, keyDim, valueDim } = shape;
  const [tokens] = projected.shape;
  gpu.scope(() => {
    const dNormed = gpu.tensor(normed.shape, "f32", "normed values gradient");
    outputGateBackward(gpu, gated(shape, normed, projected), {
      ...{ dOutput, dx: dNormed, dGates: dProjected },
    });
    const dValues = gpu.tensor(normed.shape, "f32", "delta values gradient");
    const perHead = (tensor: Tensor) => tensor.reshape(tokens * valueHeads, valueDim);
    rmsnormBackward(gpu, {
      x: perHead(values),
      weight: norm.weight,
      rstd,
      dy: perHead(dNormed),
      upstream: null,
      dx: perHead(dValues),
      weightGradient: norm.gradient,
    });
    const d = {
      dHeads: gpu.tensor([3, tokens, valueHeads, keyDim], "f32", "delta head gradients"),
      dInputs: gpu.tensor(made.heads.shape, "f32", "delta input gradients"),
      slopes: gpu.tensor([tokens, 2 * valueHeads], "f32", "delta rate gradients"),
    };
    deltaRuleBackward(gpu, rule, shape, dValues, d);
    const given = { projected, kept, made, segments };
    deltaInputsBackward(gpu, given, weights, shape, d, dProjected, gradients);
  });
}
