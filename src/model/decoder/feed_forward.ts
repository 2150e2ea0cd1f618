/** The feed-forward block of a layer, one or experts. */

import type { Tensor } from "../../gpu/tensor.ts";
import { swigluBackward } from "../../kernels/layers/swiglu.ts";
import type { HalfRows } from "../../kernels/products/half_rows.ts";
import type { TokenRuns } from "../../kernels/products/token_runs.ts";
import { addBranch, type Branch } from "./branch.ts";
import { expertsOfToken } from "./config.ts";
import { expertsBackward, expertsEnd, expertsInner, type Routing, tensorsOf } from "./experts.ts";
import { gatedForward, linearBackward, linearForward } from "./linear.ts";
import type { Layer, Model } from "./model.ts";

/** The block up to its last projection. R rows: T tokens, or of experts the T · k places. */
export interface FeedForwardInner {
  /** [R, I] */
  readonly inner: Tensor;
  /** Null of a block without experts. */
  readonly routing: Routing | null;
}

/** What the gradient of a block needs besides its input. */
export interface FeedForwardActivations {
  /** [R, 2·I] */
  readonly gateUp: Tensor;
  /** [T, I]; null of experts, whose gradient makes it again */
  readonly inner: Tensor | null;
  readonly routing: Routing | null;
}

/** Tensors of the block, which a scope keeps. */
export const innerTensors = ({ inner, routing }: FeedForwardInner): Tensor[] => [
  inner,
  ...(routing ? tensorsOf(routing) : []),
];

/** An empty tensor for gate and up of T tokens. */
export function roomForGateUp({ gpu, config }: Model, { kind }: Layer, tokens: number): Tensor {
  const { experts } = kind;
  const [places, innerSize] = experts
    ? [expertsOfToken(experts), experts.innerSize]
    : [1, config.intermediateSize];
  return gpu.tensor([tokens * places, 2 * innerSize], "f32", "gate and up");
}

/**
 * @param x [T, C] normed
 * @param kept of `roomForGateUp`, filled; null when nobody asks for it
 * @param halfRows of x, where what made it has made them
 */
export function feedForwardInner(
  model: Model,
  { feedForward }: Layer,
  x: Tensor,
  kept: Tensor | null,
  halfRows: HalfRows | null,
): FeedForwardInner {
  if ("experts" in feedForward) return expertsInner(model, feedForward, x, kept, halfRows);
  const { gpu, config: { activation } } = model;
  const options = { kept, activation, halfRows };
  const inner = gatedForward(gpu, "gate and up", feedForward.gateUp, x, options);
  return { inner, routing: null };
}

/**
 * The last projection of the block.
 *
 * @param residual [T, C] the stream before the block
 * @returns the residual stream after it [T, C]
 */
export function feedForwardEnd(
  model: Model,
  { feedForward, feedForwardNorm }: Layer,
  { inner, routing }: FeedForwardInner,
  residual: Tensor,
): { readonly sum: Tensor; readonly branch: Branch | null } {
  return addBranch(model, feedForwardNorm, (residual) => {
    if ("experts" in feedForward) {
      if (!routing) throw new Error("experts without a routing");
      return expertsEnd(model, feedForward, routing, inner, residual);
    }
    return linearForward(model.gpu, "down", feedForward.down, inner, { residual });
  }, residual);
}

/**
 * The gradients of the block: those of the weights are added to, the input's is returned.
 *
 * @param x [T, C] normed
 * @param dy [T, C]
 * @param runs of the tokens, where the device sums over them on matrix units
 * @returns [T, C]
 */
export function feedForwardBackward(
  model: Model,
  { feedForward }: Layer,
  { gateUp, inner, routing }: FeedForwardActivations,
  x: Tensor,
  dy: Tensor,
  runs: TokenRuns | null,
): Tensor {
  const { gpu, config: { activation } } = model;
  if ("experts" in feedForward) {
    if (!routing) throw new Error("experts without a routing");
    return expertsBackward(model, feedForward, { routing, gateUp, x }, dy, runs);
  }
  if (!inner) throw new Error("a feed-forward block without what its last projection reads");
  const dInner = linearBackward(gpu, "down", feedForward.down, dy, inner, runs);
  const dGateUp = gpu.tensor(gateUp.shape, "f32", "gate and up gradient");
  swigluBackward(gpu, gateUp, dInner, dGateUp, activation);
  return linearBackward(gpu, "gate and up", feedForward.gateUp, dGateUp, x, runs);
}
