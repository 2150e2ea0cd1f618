import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { launchGemm } from "./gemm_launch.ts";
import type { GemmOptions } from "./gemm_options.ts";
import { costOf, gemmProduct } from "./gemm_product.ts";
import { launchesForHalves, partOfHalfRows } from "./half_rows.ts";
import type { GemmLayout } from "./gemm_variants.ts";

export type { GemmOptions } from "./gemm_options.ts";
export type { GemmLayout } from "./gemm_variants.ts";

/** A product too long for one launch is cut into launches of multiples of so many rows of C. */
const rowsOfLaunch = 64;

/**
 * C = A·Bᵀ (nt), A·B (nn) or Aᵀ·B (tn), all row-major, f32 sums in ascending order of the summed index.
 *
 * @param a nt, nn: [rows, depth]; tn: [depth, rows]
 * @param b nt: [columns, depth]; nn, tn: [depth, columns]; in nt and nn it may be f16, bf16 or in
 *   quantised blocks
 * @param c [rows, columns]
 * @throws Error when the shapes do not fit or a row is no multiple of 4 elements
 */
export function gemm(
  gpu: Gpu,
  layout: GemmLayout,
  a: Tensor,
  b: Tensor,
  c: Tensor,
  options: GemmOptions = {},
): void {
  const product = gemmProduct(gpu.tuning, layout, a, b, c, options);
  const { rows } = product;
  const cost = costOf(product);
  const launches = Math.max(gpu.launchesFor(cost), launchesForHalves(gpu.tuning, product));
  if (launches === 1 || rows <= rowsOfLaunch) return launchGemm(gpu, product, cost);
  const count = Math.ceil(rows / launches / rowsOfLaunch) * rowsOfLaunch;
  for (let first = 0; first < rows; first += count) {
    gemmRows(gpu, layout, [a, b, c], options, { first, count: Math.min(count, rows - first) });
  }
}

/** The product of some rows of C. */
function gemmRows(
  gpu: Gpu,
  layout: GemmLayout,
  [a, b, c]: readonly [Tensor, Tensor, Tensor],
  options: GemmOptions,
  { first, count }: { readonly first: number; readonly count: number },
): void {
  const { residual, gated, further, halfRows, firstColumnOfA = 0 } = options;
  const part = (tensor: Tensor) => {
    const [, stride] = tensor.shape;
    return tensor.view(first * stride, [count, stride]);
  };
  gemm(gpu, layout, layout === "tn" ? a : part(a), b, part(c), {
    ...options,
    ...(layout === "tn" && { firstColumnOfA: firstColumnOfA + first }),
    ...(residual && { residual: part(residual) }),
    ...(gated && { gated: { ...gated, kept: gated.kept && part(gated.kept) } }),
    ...(further && { further: { ...further, inner: part(further.inner) } }),
    ...(halfRows && { halfRows: partOfHalfRows(gpu.tuning, halfRows, first, count) }),
  });
}
