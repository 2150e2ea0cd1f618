import type { Gpu } from "../gpu/gpu.ts";
import type { Tensor } from "../gpu/tensor.ts";
import { expectShape, expectVectors } from "./expect_shape.ts";
import partialCode from "./gradient_norm.wgsl" with { type: "text" };
import finishCode from "./gradient_norm_finish.wgsl" with { type: "text" };

/** Elements that one workgroup sums. */
const partialElements = 8192;
/** Stands for no clipping; any finite norm below it leaves the scale at 1. */
const largestNorm = 3e38;

/**
 * The L2 norm of all gradients together and the factor that clips it, min(1, maxNorm / (norm + 1e-6)),
 * as torch.nn.utils.clip_grad_norm_. They stay on the GPU. If any element is NaN or infinite, or the
 * sum of squares overflows, the factor is 0, by which `adamw` skips the step. The order of the sums
 * depends only on the tensors' sizes and order.
 *
 * @param gradients f32 tensors whose sizes are multiples of 4
 * @param outputs norm [1], clipScale [1], nonFinite u32 [1]: number of NaN or infinite elements, 1 for
 *   an overflow of finite ones; above 0 exactly when the step is skipped
 * @param maxNorm above 0; Infinity for no clipping
 * @throws Error when the shapes do not fit
 */
export function gradientNorm(
  gpu: Gpu,
  gradients: readonly Tensor[],
  outputs: { readonly norm: Tensor; readonly clipScale: Tensor; readonly nonFinite: Tensor },
  maxNorm: number,
): void {
  const { norm, clipScale, nonFinite } = outputs;
  expectShape("gradientNorm", "norm", norm, [1]);
  expectShape("gradientNorm", "clipScale", clipScale, [1]);
  expectShape("gradientNorm", "nonFinite", nonFinite, [1], "u32");
  if (!(maxNorm > 0)) throw new Error(`gradientNorm: maxNorm is ${maxNorm}, expected above 0`);
  for (const tensor of gradients) {
    expectShape("gradientNorm", tensor.label, tensor, tensor.shape);
    expectVectors("gradientNorm", tensor.label, tensor.size);
  }
  const groupCounts = gradients.map((tensor) => Math.ceil(tensor.size / partialElements));
  const partialCount = groupCounts.reduce((sum, count) => sum + count, 0);
  gpu.scope(() => {
    const partials = gpu.tensor([Math.max(1, partialCount), 2], "u32", "gradient norm partials");
    let firstPartial = 0;
    gradients.forEach((tensor, i) => {
      const groups = groupCounts[i];
      gpu.dispatch(
        { label: "gradient norm", code: partialCode },
        { vectors: tensor.size / 4, groups, firstPartial },
        { gradients: tensor, partials },
        gpu.grid(groups),
      );
      firstPartial += groups;
    });
    gpu.dispatch(
      { label: "gradient norm finish", code: finishCode },
      { partialCount, maxNorm: Math.min(maxNorm, largestNorm) },
      { partials, norm, clipScale, nonFinite },
      [1],
    );
  });
}
