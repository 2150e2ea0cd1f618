import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { independentLanes } from "../../gpu/tuning.ts";
import type { Activation } from "../parts/activation.ts";
import { compose } from "../parts/compose.ts";
import { expectShape, expectVectors } from "../parts/expect_shape.ts";
import text from "./gate_backward.wgsl" with { type: "text" };
import type { Grouping } from "./grouping.ts";

const code = compose(text);

/** What the gradients of an expert's two projections are made of. P = T · k places, I the width inside an expert. */
export interface GateGradients {
  /** [T, k] of the router's weights */
  readonly dWeights: Tensor;
  /** [P, 2·I] */
  readonly dGateUp: Tensor;
  /** [P, I]: act(gate) · up times the pair's weight */
  readonly weighted: Tensor;
}

/**
 * The gradients of weight · (act(gate) · up)·Wᵀ but for W's.
 *
 * @param gateUp [P, 2·I]
 * @param dGiven [P, I]: the gradient of what the experts gave, without the weight, times W
 * @param weights [T, k]
 * @throws Error when the shapes do not fit
 */
export function expertGateBackward(
  gpu: Gpu,
  gateUp: Tensor,
  dGiven: Tensor,
  { list }: Grouping,
  weights: Tensor,
  activation: Activation,
): GateGradients {
  const operation = "expert gate backward";
  const [pairs, width] = dGiven.shape;
  expectShape(operation, "dGiven", dGiven, [pairs, width]);
  expectShape(operation, "gateUp", gateUp, [pairs, 2 * width]);
  expectShape(operation, "list", list, [pairs], "u32");
  expectVectors(operation, "a row", width);
  const dWeights = gpu.tensor(weights.shape, "f32", "expert weight gradient");
  const dGateUp = gpu.tensor(gateUp.shape, "f32", "expert gate and up gradient");
  const weighted = gpu.tensor(dGiven.shape, "f32", "weighted experts");
  const LANES = independentLanes(gpu.tuning);
  gpu.dispatch(
    { label: operation, code, defines: { GELU: activation === "gelu", LANES } },
    { pairs, vectors: width / 4 },
    { gateUp, dGiven, list, weights, dWeights, dGateUp, weighted },
    gpu.grid(Math.ceil(pairs / LANES)),
    { bytes: 24 * pairs * width },
  );
  return { dWeights, dGateUp, weighted };
}
