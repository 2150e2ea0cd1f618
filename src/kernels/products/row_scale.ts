import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { expectShape } from "../parts/expect_shape.ts";
import { composeProducts } from "./parts/compose.ts";
import scaleCode from "./row_scale.wgsl" with { type: "text" };

const code = composeProducts(scaleCode);
const LANES = 64;

/**
 * For each row of a matrix the power of two that brings its largest element near the end of f16's range: [2^14, 2^15).
 * A row of zeros, or with anything that is not finite, is left as it is.
 *
 * @param a [≥ rows, stride]
 * @param scales [rows]
 * @param options the elements of a row that count: first, a multiple of 4, and columns, with padding up to a vector
 * @throws Error when the shapes do not fit
 */
export function rowScale(
  gpu: Gpu,
  a: Tensor,
  scales: Tensor,
  { first, columns }: { readonly first: number; readonly columns: number },
): void {
  const [rows] = scales.shape;
  const [, stride] = a.shape;
  const vectors = Math.ceil(columns / 4);
  expectShape("row scale", "scales", scales, [rows]);
  if (a.shape[0] < rows || first + 4 * vectors > stride || first % 4 !== 0 || stride % 4 !== 0) {
    throw new Error(
      `row scale: ${columns} columns from ${first} of A [${a.shape}] for ${rows} rows`,
    );
  }
  gpu.dispatch(
    { label: "row scale", code, defines: { LANES } },
    { rows, vectors, stride, first },
    { a, scales },
    gpu.grid(rows),
    { bytes: 16 * rows * vectors },
  );
}

/**
 * The scales of the rows of A, which products on matrix units need. Call inside a `gpu.scope`.
 *
 * @param a [rows, depth]
 * @returns [rows]; null where each product finds them on its way, or needs none
 */
export function rowScalesOf(gpu: Gpu, a: Tensor): Tensor | null {
  const [rows, depth] = a.shape;
  if (!gpu.tuning.matrix || isScanned(rows, depth)) return null;
  const scales = gpu.tensor([rows], "f32", "row scales");
  rowScale(gpu, a, scales, { first: 0, columns: depth });
  return scales;
}

/**
 * Loads that a workgroup waits for one after the other, at most, to look for its rows' largest elements itself, instead
 * of a launch before it: 0.3 microseconds each, in the three that a launch takes.
 */
const mostScans = 10;

/** Whether so few: gemm_matrix.wgsl looks at four rows at once, with 128 lanes or more. */
export const isScanned = (rows: number, depth: number) =>
  Math.ceil(rows / 4) * Math.ceil(depth / 4 / 128) <= mostScans;
