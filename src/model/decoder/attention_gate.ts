/** Gates on what attention gives, of which one lies behind each query that the projection gives (Qwen3.5). */

import type { Tensor } from "../../gpu/tensor.ts";
import { qkvOfGated, qkvToGated } from "../../kernels/attention/gated_qkv.ts";
import {
  type Gated,
  outputGateBackward,
  outputGateForward,
} from "../../kernels/layers/output_gate.ts";
import type { Model } from "./model.ts";

/**
 * @param projected [T, (2·H + 2·KV)·D]
 * @returns queries, keys and values [T, (H + 2·KV)·D]
 */
export function ungatedQkv({ gpu, config }: Model, projected: Tensor): Tensor {
  const { heads, kvHeads, headDim } = config;
  const [tokens] = projected.shape;
  const qkv = gpu.tensor([tokens, (heads + 2 * kvHeads) * headDim], "f32", "qkv");
  qkvOfGated(gpu, projected, config, qkv);
  return qkv;
}

function gated({ config: { headDim } }: Model, attended: Tensor, projected: Tensor): Gated {
  const places = { first: headDim, run: headDim, distance: 2 * headDim };
  return { x: attended, gates: projected, places, silu: false };
}

/**
 * @param attended [T, H·D]
 * @param projected [T, (2·H + 2·KV)·D]
 * @returns [T, H·D]
 */
export function gatedAttention(model: Model, attended: Tensor, projected: Tensor): Tensor {
  const output = model.gpu.tensor(attended.shape, "f32", "gated attention");
  outputGateForward(model.gpu, gated(model, attended, projected), output);
  return output;
}

/**
 * The gradients of `gatedAttention`.
 *
 * @param dOutput [T, H·D]
 * @returns those of what attention gave [T, H·D] and of the gates, in an otherwise empty row of what the projection gave
 */
export function gatedAttentionBackward(
  model: Model,
  attended: Tensor,
  projected: Tensor,
  dOutput: Tensor,
): { readonly dAttended: Tensor; readonly dProjected: Tensor } {
  const { gpu } = model;
  const dAttended = gpu.tensor(attended.shape, "f32", "attention gradient");
  const dProjected = gpu.tensor(projected.shape, "f32", "gated qkv gradient");
  const d = { dOutput, dx: dAttended, dGates: dProjected };
  outputGateBackward(gpu, gated(model, attended, projected), d);
  return { dAttended, dProjected };
}

/** Puts the gradients of queries, keys and values beside those of the gates. */
export function joinQkvGradient({ gpu, config }: Model, dProjected: Tensor, dQkv: Tensor): void {
  qkvToGated(gpu, dProjected, config, dQkv);
}
