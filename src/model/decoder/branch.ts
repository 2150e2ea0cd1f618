import type { Tensor } from "../../gpu/tensor.ts";
import { rmsnormBackward, rmsnormForward } from "../../kernels/layers/rmsnorm.ts";
import type { HalfRows } from "../../kernels/products/half_rows.ts";
import type { Model } from "./model.ts";
import type { Parameter } from "./parameters.ts";

/** What a block gives, with a norm of its own before it is added to the residual stream. */
export interface Branch {
  /** [T, C] before the norm */
  readonly x: Tensor;
  /** [T] */
  readonly rstd: Tensor;
}

/**
 * A norm of the model.
 *
 * @param residual added to the rows
 * @param halfRows of the normed rows, filled too
 * @returns the normed rows and their rstd
 */
export function normedRows(
  { gpu, config }: Model,
  x: Tensor,
  { weight }: Parameter,
  { residual, halfRows = null }: {
    readonly residual?: Tensor;
    readonly halfRows?: HalfRows | null;
  } = {},
) {
  const y = gpu.tensor(x.shape, "f32", residual ? "residual" : "normed");
  const rstd = gpu.tensor([x.shape[0]], "f32", "rstd");
  const { normEpsilon, norms: { fromOne } } = config;
  rmsnormForward(gpu, x, weight, y, rstd, normEpsilon, { fromOne, residual, halfRows });
  return { y, rstd };
}

/**
 * The end of a block, and its norm where it has one.
 *
 * @param give makes what the block gives [T, C], and adds a residual to it where it is asked to
 * @param residual [T, C]
 * @returns the residual stream after the block [T, C]
 */
export function addBranch(
  model: Model,
  norm: Parameter | null,
  give: (residual?: Tensor) => Tensor,
  residual: Tensor,
): { readonly sum: Tensor; readonly branch: Branch | null } {
  if (!norm) return { sum: give(residual), branch: null };
  const given = give();
  const { y, rstd } = normedRows(model, given, norm, { residual });
  return { sum: y, branch: { x: given, rstd } };
}

/** @returns the gradient of what a block gave [T, C], behind its own norm where it has one */
export function branchBackward(
  { gpu, config }: Model,
  norm: Parameter | null,
  branch: Branch | null,
  dy: Tensor,
): Tensor {
  if (!norm || !branch) return dy;
  const dx = gpu.tensor(dy.shape, "f32", "branch gradient");
  rmsnormBackward(gpu, {
    ...branch,
    weight: norm.weight,
    dy,
    upstream: null,
    dx,
    weightGradient: norm.gradient,
  }, config.norms);
  return dx;
}
