import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { bytesOf } from "../../gpu/tensor.ts";
import { compose } from "../parts/compose.ts";
import { expectShape, expectVectors } from "../parts/expect_shape.ts";
import text from "./adamw.wgsl" with { type: "text" };

const code = compose(text);

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
 *   clipScale [1] multiplies the gradient, and 0 there leaves everything untouched (see gradientNorm);
 *   rounded, f16 or bf16, receives the parameters as a model reads them that is trained in 16 bits
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
    readonly rounded?: Tensor;
  },
  step: AdamwStep,
): void {
  const { parameters, gradients, firstMoment, secondMoment, clipScale, rounded } = tensors;
  const STORAGE = rounded?.dtype === "f16" ? "f16" : rounded ? "bf16" : "f32";
  for (const [name, tensor] of Object.entries({ gradients, firstMoment, secondMoment })) {
    expectShape("adamw", name, tensor, parameters.shape);
  }
  expectShape("adamw", "parameters", parameters, parameters.shape);
  expectShape("adamw", "clipScale", clipScale, [1]);
  if (rounded) expectShape("adamw", "rounded", rounded, parameters.shape, STORAGE);
  expectVectors("adamw", parameters.label, parameters.size);
  const { learningRate, beta1, beta2, epsilon, weightDecay } = step;
  const vectors = parameters.size / 4;
  gpu.dispatch(
    { label: "adamw", code, defines: { STORAGE } },
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
    { gradients, clipScale, parameters, firstMoment, secondMoment, ...(rounded && { rounded }) },
    gpu.grid(Math.ceil(vectors / 64)),
    // All but the gradient are read and written; what is rounded is written.
    { bytes: 7 * parameters.bytes + (rounded ? bytesOf(STORAGE) * rounded.size : 0) },
  );
}
