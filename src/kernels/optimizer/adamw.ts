import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import code from "./adamw.wgsl" with { type: "text" };
import { expectShape, expectVectors } from "../parts/expect_shape.ts";

/** Settings of one AdamW step. */
export interface AdamwStep {
  readonly learningRate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  readonly weightDecay: number;
  /** 1 − beta1^t, t counting steps from 1. */
  readonly biasCorrection1: number;
  /** 1 − beta2^t */
  readonly biasCorrection2: number;
}

/**
 * One step of AdamW with decoupled weight decay (arXiv 1711.05101, as torch.optim.AdamW) over a flat
 * range of N parameters, N a multiple of 4. Ranges with different weight decay take one call each.
 *
 * @param tensors f32 of one shape: parameters and both moments are updated, gradients only read;
 *   clipScale [1] multiplies the gradient, and 0 there leaves everything untouched (see gradientNorm)
 * @throws Error when the shapes do not fit
 */
export function adamw(
  gpu: Gpu,
  tensors: {
    readonly parameters: Tensor;
    readonly gradients: Tensor;
    readonly firstMoment: Tensor;
    readonly secondMoment: Tensor;
    readonly clipScale: Tensor;
  },
  step: AdamwStep,
): void {
  const { parameters, gradients, firstMoment, secondMoment, clipScale } = tensors;
  for (const [name, tensor] of Object.entries({ gradients, firstMoment, secondMoment })) {
    expectShape("adamw", name, tensor, parameters.shape);
  }
  expectShape("adamw", "parameters", parameters, parameters.shape);
  expectShape("adamw", "clipScale", clipScale, [1]);
  expectVectors("adamw", parameters.label, parameters.size);
  const { learningRate, beta1, beta2, epsilon, weightDecay } = step;
  const vectors = parameters.size / 4;
  gpu.dispatch(
    { label: "adamw", code },
    {
      vectors,
      beta1,
      rest1: 1 - beta1,
      beta2,
      rest2: 1 - beta2,
      epsilon,
      shrink: 1 - learningRate * weightDecay,
      stepSize: learningRate / step.biasCorrection1,
      rootScale: 1 / Math.sqrt(step.biasCorrection2),
    },
    { gradients, clipScale, parameters, firstMoment, secondMoment },
    gpu.grid(Math.ceil(vectors / 64)),
    // All but the gradient are read and written.
    { bytes: 7 * parameters.bytes },
  );
}
