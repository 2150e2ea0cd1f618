import { bytesOf, type MatrixType, type Tensor } from "../../gpu/tensor.ts";
import type { Tuning } from "../../gpu/tuning.ts";
import type { LaunchCost } from "../../gpu/recording/submit_pacing.ts";
import { expectShape } from "../parts/expect_shape.ts";
import type { FactorRuns, GemmOptions } from "./gemm_options.ts";
import { expectHalfRows } from "./half_rows.ts";
import type { GemmLayout } from "./gemm_variants.ts";

/** A product whose shapes fit, with what its options leave out. */
export interface GemmProduct {
  readonly label: string;
  readonly layout: GemmLayout;
  readonly a: Tensor;
  readonly b: Tensor;
  readonly c: Tensor;
  readonly storage: MatrixType;
  readonly rows: number;
  /** Of C, or of gate and up. */
  readonly columns: number;
  /** Terms of each sum. */
  readonly depth: number;
  readonly options: GemmOptions;
}

/**
 * A product as `gemm` is asked for it.
 *
 * @throws Error when the shapes do not fit or a row is no multiple of 4 elements
 */
export function gemmProduct(
  tuning: Tuning,
  layout: GemmLayout,
  a: Tensor,
  b: Tensor,
  c: Tensor,
  options: GemmOptions,
): GemmProduct {
  const label = options.label ?? `gemm ${layout}`;
  const [rows] = c.shape;
  const columns = options.columns ?? (layout === "nt" ? b.shape[0] : b.shape[1]);
  const depth = options.depth ?? (layout === "tn" ? a.shape[0] : a.shape[1]);
  const storage = b.dtype;
  if (storage === "u32" || storage === "i32") throw new Error(`${label}: B is ${storage}`);
  const product = { label, layout, a, b, c, storage, rows, columns, depth, options };
  expectFit(product);
  if (options.runs) expectRuns(product, options.runs);
  if (options.halfRows) expectHalfRows(label, tuning, options.halfRows, rows, depth);
  return product;
}

/** Operations and bytes of a product. */
export function costOf(
  { b, rows, columns, depth, options: { further } }: GemmProduct,
): LaunchCost {
  // Terms of a row of C beside those of A and B.
  const furtherTerms = further
    ? further.further.shape[1] * further.projections.reduce((sum, one) => sum + one.columns, 0)
    : 0;
  return {
    kind: "products",
    flops: 2 * rows * (columns * depth + furtherTerms),
    bytes: (4 * rows + bytesOf(b.dtype) * columns) * depth + 4 * rows * columns +
      4 * (furtherTerms + (further?.inner.size ?? 0)),
  };
}

function expectFit({ label, layout, a, b, c, rows, columns, depth, options }: GemmProduct): void {
  const { bias, residual, accumulate, scale, gated } = options;
  const { firstColumn = 0, firstColumnOfA = 0, firstColumnOfB = 0 } = options;
  const [, strideC] = c.shape;
  const rowsOfA = layout === "tn" ? a.shape[1] - firstColumnOfA : a.shape[0];
  const depthOfB = layout === "nt" ? b.shape[1] : b.shape[0];
  expectShape(label, "A", a, [-1, -1]);
  expectShape(label, "C", c, [-1, -1]);
  if (bias) expectShape(label, "bias", bias, [Math.ceil(columns / 4) * 4]);
  if (residual) expectShape(label, "residual", residual, [rows, strideC]);
  if (gated) expectGated(label, layout, b, c, options);
  expectFurther(label, layout, [rows, columns], options);
  const fits = rowsOfA >= rows &&
    (options.depth === undefined ? depthOfB === depth : depthOfB >= depth) &&
    (gated ? columns === 2 * strideC : firstColumn + columns <= strideC) &&
    (layout === "tn" || firstColumnOfA + depth <= Math.ceil(a.shape[1] / 4) * 4) &&
    !(accumulate && scale !== undefined) &&
    (layout === "nt" ? b.shape[0] : b.shape[1] - firstColumnOfB) >= columns &&
    (layout !== "nt" || firstColumnOfB === 0) &&
    [a.shape[1], b.shape[1], strideC, firstColumn, firstColumnOfA, firstColumnOfB].every((stride) =>
      stride % 4 === 0
    ) &&
    (layout !== "nt" || depth % 4 === 0);
  if (!fits) {
    throw new Error(`${label}: A [${a.shape}], B [${b.shape}] and C [${c.shape}] do not fit`);
  }
}

function expectRuns(
  { label, layout, storage, a, depth, options }: GemmProduct,
  { runs: { count, runOfRow }, largestA, largestB }: FactorRuns,
): void {
  const { accumulate, runs: _, variant: __, label: ___, firstColumnOfA: ____, ...others } = options;
  const other = Object.entries(others).find(([, value]) => value !== undefined && value !== null);
  if (layout !== "tn" || storage !== "f32" || !accumulate || other) {
    throw new Error(
      `${label}: runs are for sums over tokens that are added to C, of whole matrices in f32` +
        (other ? `, without ${other[0]}` : ""),
    );
  }
  expectShape(label, "runs of rows", runOfRow, [depth], "u32");
  expectShape(label, "A", a, [depth, -1]);
  expectShape(label, "largest of A", largestA, [count], "u32");
  expectShape(label, "largest of B", largestB, [count], "u32");
}

function expectGated(
  label: string,
  layout: GemmLayout,
  b: Tensor,
  { shape: [rows, width] }: Tensor,
  { gated, label: _, variant: __, further: ___, halfRows: ____, runs: _____, ...others }:
    GemmOptions,
): void {
  const other = Object.entries(others).find(([, value]) => value !== undefined);
  if (other) throw new Error(`${label}: gated, and ${other[0]} with it`);
  if (layout !== "nt") throw new Error(`${label}: gated, in layout ${layout}`);
  expectShape(label, "B", b, [2 * width, -1], b.dtype);
  if (gated?.kept) expectShape(label, "gate and up", gated.kept, [rows, 2 * width]);
}

/** @throws Error when terms do not belong to the rows and columns of a product */
function expectFurther(
  label: string,
  layout: GemmLayout,
  [rows, columns]: readonly [number, number],
  { further: terms, gated, accumulate, firstColumn }: GemmOptions,
): void {
  if (!terms) return;
  const { inner, further, projections } = terms;
  const [rowsOfFurther, rank] = further.shape;
  expectShape(label, "further terms", further, [-1, -1]);
  expectShape(label, "inner", inner, [rows, projections.length * rank]);
  const fits = layout === "nt" && !accumulate && !firstColumn && rank % 4 === 0 &&
    projections.length > 0 && projections.length <= 4 &&
    projections.every((one, n) =>
      (n === 0 || one.firstColumn >= projections[n - 1].firstColumn + projections[n - 1].columns) &&
      one.firstColumn % 4 === 0 && one.columns % 4 === 0 &&
      one.firstColumn + one.columns <= columns && one.firstRow + one.columns <= rowsOfFurther
    ) &&
    (!gated || projections.length === 2 && projections.every((one) => 2 * one.columns === columns));
  if (!fits) throw new Error(`${label}: further terms [${further.shape}] do not fit`);
}
