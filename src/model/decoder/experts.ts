/** A feed-forward block of experts: y = Σ over a token's experts of weight · down(act(gate(x)) · up(x)). */

import type { Tensor } from "../../gpu/tensor.ts";
import { combine } from "../../kernels/experts/combine.ts";
import { expertGateBackward } from "../../kernels/experts/gate_backward.ts";
import { type Grouping, groupPairs } from "../../kernels/experts/grouping.ts";
import {
  route,
  routeBackward,
  type RouteOptions,
  type Routes,
} from "../../kernels/experts/route.ts";
import { gemm } from "../../kernels/products/gemm.ts";
import type { HalfRows } from "../../kernels/products/half_rows.ts";
import type { TokenRuns } from "../../kernels/products/token_runs.ts";
import { weightGradient } from "../../kernels/products/weight_gradient.ts";
import { expertsOfToken, matricesOf } from "./config.ts";
import { expertForward, expertInputGradient, expertWeightGradients } from "./expert_linear.ts";
import type { ExpertFeedForward, Model } from "./model.ts";

/** Where T tokens were sent. E experts, k of a token, P = T · k places; of both the one that all share is the last. */
export interface Routing extends Routes {
  /** [T, E, padded to a multiple of 4] */
  readonly logits: Tensor;
  readonly grouping: Grouping;
}

/** Tensors of a routing, which a scope keeps. */
export const tensorsOf = ({ logits, experts, weights, grouping }: Routing): Tensor[] => [
  ...[logits, experts, weights],
  ...[grouping.offsets, grouping.list, grouping.places],
];

function routeOptions(
  { config: { scales } }: Model,
  { experts, bias }: ExpertFeedForward,
): RouteOptions {
  const { count, chosen, scores, normalised, scale } = experts;
  return {
    ...{ experts: count, chosen, scores, normalised },
    bias: bias && bias.weight,
    scale: scale * scales.residual,
    shared: experts.shared,
  };
}

/**
 * The experts up to their last projection.
 *
 * @param x [T, C]
 * @param kept [P, 2·I] receives gate and up; null when nobody asks for them
 * @param halfRows of x, where what made it has made them
 * @returns inner [P, I]
 */
export function expertsInner(
  model: Model,
  block: ExpertFeedForward,
  x: Tensor,
  kept: Tensor | null,
  halfRows: HalfRows | null,
): { readonly routing: Routing; readonly inner: Tensor } {
  const { gpu, config: { activation } } = model;
  const { experts, router, gateUp } = block;
  const [tokens] = x.shape;
  const logits = gpu.tensor([tokens, Math.ceil(matricesOf(experts) / 4) * 4], "f32", "router");
  gemm(gpu, "nt", x, router.weight, logits, { label: "router", halfRows });
  const routes = route(gpu, logits, routeOptions(model, block));
  const grouping = groupPairs(gpu, routes.experts, matricesOf(experts));
  const inner = gpu.tensor(
    [tokens * expertsOfToken(experts), experts.innerSize],
    "f32",
    "experts inner",
  );
  expertForward(gpu, "experts gate and up", gateUp, x, grouping, inner, {
    rowsOf: "tokens",
    gated: { kept, activation },
  });
  return { routing: { logits, ...routes, grouping }, inner };
}

/**
 * The experts' last projections, brought together.
 *
 * @param inner [P, I]
 * @param residual [T, C], added
 * @returns [T, C]
 */
export function expertsEnd(
  { gpu, config: { hiddenSize } }: Model,
  block: ExpertFeedForward,
  { grouping, weights }: Routing,
  inner: Tensor,
  residual?: Tensor,
): Tensor {
  const [tokens] = weights.shape;
  const y = gpu.tensor([tokens, hiddenSize], "f32", "experts");
  gpu.scope(() => {
    const given = gpu.tensor([inner.shape[0], hiddenSize], "f32", "expert outputs");
    expertForward(gpu, "experts down", block.down, inner, grouping, given, { rowsOf: "places" });
    combine(gpu, given, grouping, y, { weights, residual });
  });
  return y;
}

/**
 * The gradients of the block: those of the weights are added to, the input's is returned. What a token was sent to is
 * taken as it is, how much it counts is not.
 *
 * @param x [T, C]
 * @param gateUp [P, 2·I]
 * @param dy [T, C]
 * @param runs of the tokens, where the device sums over them on matrix units
 * @returns [T, C]
 */
export function expertsBackward(
  model: Model,
  block: ExpertFeedForward,
  { routing, gateUp, x }: {
    readonly routing: Routing;
    readonly gateUp: Tensor;
    readonly x: Tensor;
  },
  dy: Tensor,
  runs: TokenRuns | null,
): Tensor {
  const { gpu, config: { activation } } = model;
  const { experts, router } = block;
  const { grouping, logits } = routing;
  const dx = gpu.tensor(x.shape, "f32", "experts input gradient");
  gpu.scope(() => {
    const { down, gateUp: first } = block;
    const given = expertInputGradient(gpu, "experts down", down, dy, "tokens", grouping);
    const made = expertGateBackward(gpu, gateUp, given.dx, grouping, routing.weights, activation);
    expertWeightGradients(gpu, "experts down", down, {
      dy: { rows: dy, of: "tokens" },
      x: { rows: made.weighted, of: "places" },
      dInner: given.dInner,
    }, grouping);
    const { dx: dPlaces, dInner } = expertInputGradient(
      gpu,
      "experts gate and up",
      first,
      made.dGateUp,
      "places",
      grouping,
    );
    expertWeightGradients(gpu, "experts gate and up", first, {
      dy: { rows: made.dGateUp, of: "places" },
      x: { rows: x, of: "tokens" },
      dInner,
    }, grouping);
    combine(gpu, dPlaces, grouping, dx);
    const options = routeOptions(model, block);
    const dLogits = routeBackward(gpu, logits, routing.experts, made.dWeights, options);
    if (router.gradient) {
      weightGradient(gpu, "router", { dy: dLogits, x, runs }, router.gradient);
    }
    gemm(gpu, "nn", dLogits, router.weight, dx, {
      label: "router input gradient",
      accumulate: true,
      depth: matricesOf(experts),
    });
  });
  return dx;
}
