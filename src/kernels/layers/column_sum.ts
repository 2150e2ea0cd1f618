import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import column_sum_bindings from "./column_sum_bindings.wgsl" with { type: "text" };
import laneText from "./column_sum.wgsl" with { type: "text" };
import stagedText from "./column_sum_staged.wgsl" with { type: "text" };
import { compose } from "../parts/compose.ts";

const laneCode = compose(laneText, { column_sum_bindings });
const stagedCode = compose(stagedText, { column_sum_bindings });

/** Factors of the rows of `dy`: the rows of x, each times its rstd. */
export interface ColumnFactors {
  /** [T, D] */
  readonly x: Tensor;
  /** [T] */
  readonly rstd: Tensor;
}

/**
 * How a column comes to a lane: `direct` from its buffer, eight rows ahead, or `staged` through workgroup memory, a
 * hundred rows ahead. Both give the same bits.
 */
export type ColumnSumVariant = "direct" | "staged";

/** The variant that suits the device. */
export function columnSumVariant({ tuning }: Gpu): ColumnSumVariant {
  return tuning.lanes === "gpu" ? "staged" : "direct";
}

/**
 * target[j] += Σ_t dy[t, j], or Σ_t dy[t, j] · x[t, j] · rstd[t]; rows in ascending order, so that a batch cut into
 * micro-batches gives the same bits.
 *
 * @param dy [T, D], D a multiple of 4
 * @param target [D]
 */
export function columnSum(
  gpu: Gpu,
  label: string,
  dy: Tensor,
  target: Tensor,
  factors: ColumnFactors | null,
  variant = columnSumVariant(gpu),
): void {
  const [rows, columns] = dy.shape;
  const NORM = factors !== null;
  const [source, columnsOfGroup] = variant === "staged"
    ? [{ label, code: stagedCode, defines: { NORM, ROUNDS: 2 } }, 16]
    : [{ label, code: laneCode, defines: { NORM } }, 32];
  gpu.dispatch(source, { rows, columns }, { dy, ...factors, target_sum: target }, [
    Math.ceil(columns / columnsOfGroup),
  ]);
}
