import type { Gpu } from "../../gpu/gpu.ts";
import type { Grid } from "../../gpu/grid.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { lanesOfRow } from "../../gpu/tuning.ts";
import { columnSum } from "./column_sum.ts";
import forwardText from "./rmsnorm.wgsl" with { type: "text" };
import backwardText from "./rmsnorm_backward.wgsl" with { type: "text" };
import { expectHalfRows, halfRowDefines, type HalfRows } from "../products/half_rows.ts";
import { compose } from "../parts/compose.ts";

const forwardCode = compose(forwardText);
const backwardCode = compose(backwardText);

/** How many lanes share a row. One is best where lanes are SIMD lanes of a CPU core. */
export type RowLanes = 1 | 64;

interface RowShape {
  readonly defines: { readonly LANES: RowLanes; readonly WORKGROUP: number };
  readonly grid: Grid;
}

function rowShape(gpu: Gpu, rows: number, lanes: RowLanes): RowShape {
  return lanes === 1
    ? { defines: { LANES: 1, WORKGROUP: 16 }, grid: gpu.grid(Math.ceil(rows / 16)) }
    : { defines: { LANES: 64, WORKGROUP: 64 }, grid: gpu.grid(rows) };
}

/** The number of lanes per row that suits the device. */
function rowLanes(gpu: Gpu): RowLanes {
  return lanesOfRow(gpu.tuning, 64);
}

/** What a norm may have besides; all may be left out. */
export interface NormOptions {
  /** 1 + weight multiplies, not the weight alone (Gemma). */
  readonly fromOne?: boolean;
  readonly lanes?: RowLanes;
}

/**
 * y = x · rstd · weight, rstd = 1/√(mean(x²) + epsilon) of each row (Zhang & Sennrich 2019).
 *
 * @param x [T, D]: T tokens, D model width, a multiple of 4
 * @param weight [D]
 * @param y [T, D]
 * @param rstd [T], kept for the backward pass
 * @param residual [T, D], added to y
 * @param halfRows of y, filled too
 */
export function rmsnormForward(
  gpu: Gpu,
  x: Tensor,
  weight: Tensor,
  y: Tensor,
  rstd: Tensor,
  epsilon: number,
  { fromOne: FROM_ONE = false, lanes = rowLanes(gpu), residual, halfRows }: NormOptions & {
    readonly residual?: Tensor;
    readonly halfRows?: HalfRows | null;
  } = {},
): void {
  const [rows, columns] = x.shape;
  const { defines, grid } = rowShape(gpu, rows, lanes);
  const RESIDUAL = residual !== undefined, HALVES = Boolean(halfRows);
  const halves = halfRows ? { HALVES, ...halfRowDefines(gpu.tuning) } : { HALVES };
  if (halfRows) expectHalfRows("rmsnorm", gpu.tuning, halfRows, rows, columns);
  gpu.dispatch(
    { label: "rmsnorm", code: forwardCode, defines: { ...defines, FROM_ONE, RESIDUAL, ...halves } },
    { rows, columns, epsilon },
    { x, weight, y, rstd, ...(residual && { residual }), ...halfRows },
    grid,
  );
}

/**
 * The gradients of `rmsnormForward`.
 *
 * @param dy [T, D] gradient of y
 * @param upstream [T, D] gradient that reaches x past the norm (the residual), or null
 * @param dx [T, D] receives upstream + the norm's input gradient
 * @param weightGradient [D] is added to, tokens in ascending order; null when it is not trained
 */
export function rmsnormBackward(
  gpu: Gpu,
  { x, weight, rstd, dy, upstream, dx, weightGradient }: {
    readonly x: Tensor;
    readonly weight: Tensor;
    readonly rstd: Tensor;
    readonly dy: Tensor;
    readonly upstream: Tensor | null;
    readonly dx: Tensor;
    readonly weightGradient: Tensor | null;
  },
  { fromOne: FROM_ONE = false, lanes = rowLanes(gpu) }: NormOptions = {},
): void {
  const [rows, columns] = x.shape;
  const { defines, grid } = rowShape(gpu, rows, lanes);
  const UPSTREAM = upstream !== null;
  gpu.dispatch(
    { label: "rmsnorm backward", code: backwardCode, defines: { ...defines, FROM_ONE, UPSTREAM } },
    { rows, columns },
    upstream ? { x, weight, rstd, dy, upstream, dx } : { x, weight, rstd, dy, dx },
    grid,
  );
  if (weightGradient) {
    columnSum(gpu, "rmsnorm weight gradient", dy, weightGradient, { x, rstd });
  }
}

/**
 * gradient[j] += Σ_t dy[t, j], tokens in ascending order.
 *
 * @param dy [T, D], D a multiple of 4
 * @param gradient [D]
 */
export function biasBackward(gpu: Gpu, dy: Tensor, gradient: Tensor): void {
  columnSum(gpu, "bias gradient", dy, gradient, null);
}
