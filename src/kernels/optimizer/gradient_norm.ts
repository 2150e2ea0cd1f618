import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { expectShape, expectVectors } from "../parts/expect_shape.ts";
import partialText from "./gradient_norm.wgsl" with { type: "text" };
import finishText from "./gradient_norm_finish.wgsl" with { type: "text" };
import gradient_norm_lanes from "./gradient_norm_lanes.wgsl" with { type: "text" };
import { compose } from "../parts/compose.ts";

const partialCode = compose(partialText, { gradient_norm_lanes });
const finishCode = compose(finishText, { gradient_norm_lanes });

/** Elements that one workgroup sums into one partial. */
export const partialElements = 8192;
/** Stands for no clipping; any finite norm below it leaves the scale at 1. */
const largestNorm = 3e38;

/** Results of a norm, on the GPU. */
export interface NormOutputs {
  /** [1] */
  readonly norm: Tensor;
  /** [1] min(1, maxGradientNorm / (norm + 1e-6)), or 0 */
  readonly clipScale: Tensor;
  /**
   * u32 [1] number of NaN or infinite elements, 1 for an overflow of finite ones; above 0 exactly when the step
   * is skipped
   */
  readonly nonFinite: Tensor;
}

/**
 * The L2 norm of all gradients together and the factor that clips it, min(1, maxGradientNorm / (norm + 1e-6)),
 * as torch.nn.utils.clip_grad_norm_. They stay on the GPU. If any element is NaN or infinite, or the
 * sum of squares overflows, the factor is 0, by which `adamw` skips the step. The order of the sums
 * depends only on the tensors' sizes and order.
 *
 * @param gradients f32 tensors whose sizes are multiples of 4
 * @param maxGradientNorm above 0; Infinity for no clipping
 * @throws Error when the shapes do not fit
 */
export function gradientNorm(
  gpu: Gpu,
  gradients: readonly Tensor[],
  outputs: NormOutputs,
  maxGradientNorm: number,
): void {
  gpu.scope(() => {
    const count = gradients.reduce((sum, { size }) => sum + partialCount(size), 0);
    const partials = gpu.tensor([count, 2], "u32", "gradient norm partials");
    gradientNormPartials(gpu, gradients, partials);
    finishGradientNorm(gpu, partials, outputs, maxGradientNorm);
  });
}

/** How many partials a flat tensor makes. */
export function partialCount(elements: number): number {
  return Math.ceil(elements / partialElements);
}

/**
 * The first half of `gradientNorm`: sums of squares and numbers of NaN or infinite elements. Of a tensor that is
 * cut at multiples of `partialElements` the pieces have the partials of the whole.
 *
 * @param partials u32 [P, 2]: of one tensor after another, bits of the sum and number
 * @throws Error when the shapes do not fit
 */
export function gradientNormPartials(
  gpu: Gpu,
  gradients: readonly Tensor[],
  partials: Tensor,
): void {
  let firstPartial = 0;
  for (const tensor of gradients) {
    expectShape("gradientNorm", tensor.label, tensor, tensor.shape);
    expectVectors("gradientNorm", tensor.label, tensor.size);
    const groups = partialCount(tensor.size);
    gpu.dispatch(
      { label: "gradient norm", code: partialCode },
      { vectors: tensor.size / 4, groups, firstPartial },
      { gradients: tensor, partials },
      gpu.grid(groups),
    );
    firstPartial += groups;
  }
  expectShape("gradientNorm", "partials", partials, [firstPartial, 2], "u32");
}

/**
 * The second half of `gradientNorm`.
 *
 * @param partials u32 [P, 2] as `gradientNormPartials` makes them, of all gradients in their order
 * @throws Error when the shapes do not fit
 */
export function finishGradientNorm(
  gpu: Gpu,
  partials: Tensor,
  { norm, clipScale, nonFinite }: NormOutputs,
  maxGradientNorm: number,
): void {
  const [partialCount] = partials.shape;
  expectShape("gradientNorm", "partials", partials, [partialCount, 2], "u32");
  expectShape("gradientNorm", "norm", norm, [1]);
  expectShape("gradientNorm", "clipScale", clipScale, [1]);
  expectShape("gradientNorm", "nonFinite", nonFinite, [1], "u32");
  if (!(maxGradientNorm > 0)) {
    throw new Error(`gradientNorm: maxGradientNorm is ${maxGradientNorm}, expected above 0`);
  }
  gpu.dispatch(
    { label: "gradient norm finish", code: finishCode },
    { partialCount, maxGradientNorm: Math.min(maxGradientNorm, largestNorm) },
    { partials, norm, clipScale, nonFinite },
    [1],
  );
}
