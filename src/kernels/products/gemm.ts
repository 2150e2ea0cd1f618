import type { Gpu } from "../../gpu/gpu.ts";
import type { LaunchCost } from "../../gpu/recording/submit_pacing.ts";
import { bytesOf, type Tensor } from "../../gpu/tensor.ts";
import type { Activation } from "../parts/activation.ts";
import { expectShape } from "../parts/expect_shape.ts";
import uniformText from "./gemm.wgsl" with { type: "text" };
import matrixText from "./gemm_matrix.wgsl" with { type: "text" };
import fewRowsText from "./gemm_few_rows.wgsl" with { type: "text" };
import {
  type GemmLayout,
  gemmLayouts,
  gemmOperation,
  type GemmVariant,
  rowsInRegisters,
} from "./gemm_variants.ts";
import streamedText from "./gemm_streamed.wgsl" with { type: "text" };
import tiledText from "./gemm_tiled.wgsl" with { type: "text" };
import { composeProducts } from "./parts/compose.ts";
import { rowScale } from "./row_scale.ts";

const uniformCode = composeProducts(uniformText);
const fewRowsCode = composeProducts(fewRowsText);
const tiledCode = composeProducts(tiledText);
const streamedCode = composeProducts(streamedText);
const matrixCode = composeProducts(matrixText);

export type { GemmLayout } from "./gemm_variants.ts";

/** The texts of all variants. */
export const gemmTexts: readonly string[] = [
  uniformCode,
  fewRowsCode,
  tiledCode,
  streamedCode,
  matrixCode,
];

/** Choices and extra work of a product; all may be left out. */
export interface GemmOptions {
  /** Added to every row of C (nt). [columns, padded to a multiple of 4] */
  readonly bias?: Tensor;
  /** Added to C. [rows, stride of C]; not C itself. */
  readonly residual?: Tensor;
  /** The sums continue from what C holds. */
  readonly accumulate?: boolean;
  /** Overrides the choice by device. All give the same bits. */
  readonly variant?: GemmVariant;
  /** Where the columns of C that are computed begin, a multiple of 4; 0 by default. */
  readonly firstColumn?: number;
  /** Columns of C to compute when that is fewer than its stride. */
  readonly columns?: number;
  /** Terms of each sum when that is fewer than the stride of A (nt, nn). */
  readonly depth?: number;
  /**
   * Where in its rows the part of A begins that is used, a multiple of 4: the terms of the sums (nt, nn) or
   * the rows of C (tn). 0 by default.
   */
  readonly firstColumnOfA?: number;
  /** Where in its rows the columns of B begin that make C (nn, tn), a multiple of 4; 0 by default. */
  readonly firstColumnOfB?: number;
  /** Multiplies product and bias; not with `accumulate`. */
  readonly scale?: number;
  /**
   * The product is a gate and what it lets through, side by side, and C = act(gate) · up (nt, and nothing else with
   * it): C has half as many columns as B rows. `kept` [rows, 2 · columns of C] receives gate and up themselves.
   */
  readonly gated?: { readonly kept: Tensor | null; readonly activation?: Activation };
  /** Terms with which the sums go on when bias and residual have come to them (nt, from the first column on). */
  readonly further?: FurtherTerms | null;
  /** What `rowScalesOf` made of A, for several products of it. */
  readonly rowScales?: Tensor | null;
  /** Shown in errors and profiles. */
  readonly label?: string;
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
const isScanned = (rows: number, depth: number) =>
  Math.ceil(rows / 4) * Math.ceil(depth / 4 / 128) <= mostScans;

/** What an adapter adds to a product x·Wᵀ: for each projection among the rows of W, inner · further ᵀ. */
export interface FurtherTerms {
  /** [rows, projections · rank], one projection beside the other */
  readonly inner: Tensor;
  /** [≥ last row of a projection, rank] */
  readonly further: Tensor;
  /** At most three, in ascending order: with `gated` both halves. All numbers are multiples of 4. */
  readonly projections: readonly {
    /** Where its columns begin in those of the product. */
    readonly firstColumn: number;
    readonly columns: number;
    /** Where its rows begin in `further`. */
    readonly firstRow: number;
  }[];
}

function expectGated(
  label: string,
  layout: GemmLayout,
  b: Tensor,
  { shape: [rows, width] }: Tensor,
  { gated, label: _, variant: __, further: ___, rowScales: ____, ...others }: GemmOptions,
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
    projections.length > 0 && projections.length <= 3 &&
    projections.every((one, n) =>
      (n === 0 || one.firstColumn >= projections[n - 1].firstColumn + projections[n - 1].columns) &&
      one.firstColumn % 4 === 0 && one.columns % 4 === 0 &&
      one.firstColumn + one.columns <= columns && one.firstRow + one.columns <= rowsOfFurther
    ) &&
    (!gated || projections.length === 2 && projections.every((one) => 2 * one.columns === columns));
  if (!fits) throw new Error(`${label}: further terms [${further.shape}] do not fit`);
}

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
  const {
    bias,
    residual,
    accumulate = false,
    firstColumn = 0,
    firstColumnOfA = 0,
    firstColumnOfB = 0,
    scale,
    gated,
    further,
  } = options;
  const label = options.label ?? `gemm ${layout}`;
  const [rows, strideC] = c.shape;
  const columns = options.columns ?? (layout === "nt" ? b.shape[0] : b.shape[1]);
  const depth = options.depth ?? (layout === "tn" ? a.shape[0] : a.shape[1]);
  const rowsOfA = layout === "tn" ? a.shape[1] - firstColumnOfA : a.shape[0];
  const depthOfB = layout === "nt" ? b.shape[1] : b.shape[0];
  expectShape(label, "A", a, [-1, -1]);
  expectShape(label, "C", c, [-1, -1]);
  if (bias) expectShape(label, "bias", bias, [Math.ceil(columns / 4) * 4]);
  if (residual) expectShape(label, "residual", residual, [rows, strideC]);
  if (gated) expectGated(label, layout, b, c, options);
  expectFurther(label, layout, [rows, columns], options);
  if (options.rowScales) expectShape(label, "row scales", options.rowScales, [rows]);
  const storage = b.dtype;
  if (storage === "u32" || storage === "i32") throw new Error(`${label}: B is ${storage}`);
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
  // Terms of a row of C beside those of A and B.
  const furtherTerms = further
    ? further.further.shape[1] * further.projections.reduce((sum, one) => sum + one.columns, 0)
    : 0;
  const cost: LaunchCost = {
    kind: "products",
    flops: 2 * rows * (columns * depth + furtherTerms),
    bytes: (4 * rows + bytesOf(b.dtype) * columns) * depth + 4 * rows * columns +
      4 * (furtherTerms + (further?.inner.size ?? 0)),
  };
  const launches = gpu.launchesFor(cost);
  if (launches > 1 && rows > rowsOfLaunch) {
    const count = Math.ceil(rows / launches / rowsOfLaunch) * rowsOfLaunch;
    for (let first = 0; first < rows; first += count) {
      const part = (tensor: Tensor) => {
        const [, stride] = tensor.shape;
        return tensor.view(first * stride, [Math.min(count, rows - first), stride]);
      };
      gemm(gpu, layout, layout === "tn" ? a : part(a), b, part(c), {
        ...options,
        ...(layout === "tn" && { firstColumnOfA: firstColumnOfA + first }),
        ...(residual && { residual: part(residual) }),
        ...(gated && { gated: { ...gated, kept: gated.kept && part(gated.kept) } }),
        ...(further && { further: { ...further, inner: part(further.inner) } }),
        ...(options.rowScales && {
          rowScales: options.rowScales.view(first, [Math.min(count, rows - first)]),
        }),
      });
    }
    return;
  }
  const shared = {
    LAYOUT: gemmLayouts.indexOf(layout),
    STORAGE: storage,
    BIAS: bias !== undefined,
    RESIDUAL: residual !== undefined,
    ACCUMULATE: accumulate,
    SCALE: scale !== undefined,
    GATED: gated !== undefined,
    KEPT: gated !== undefined && gated.kept !== null,
    GELU: gated?.activation === "gelu",
    ADAPTED: further ? further.projections.length : 0,
  };
  const parameters = {
    rows,
    columns,
    depth,
    strideA: a.shape[1],
    strideB: b.shape[1],
    strideC,
    firstC: firstColumn,
    firstA: firstColumnOfA,
    firstB: firstColumnOfB,
    scale: scale ?? 1,
    ...(further && furtherParameters(further)),
  };
  const tensors: Record<string, Tensor> = { a, b, c };
  if (bias) tensors.bias = bias;
  if (residual) tensors.residual = residual;
  if (gated?.kept) tensors.gateUp = gated.kept;
  if (further) Object.assign(tensors, { inner: further.inner, further: further.further });
  const variant = options.variant ??
    gpu.choices.of(gemmOperation, { layout, storage, rows, columns, depth });
  if (variant.sharing === "uniform") {
    const { lanes: LANES, rows: ROWS } = variant;
    const isFew = ROWS <= rowsInRegisters;
    if (isFew && layout !== "nt") {
      throw new Error(`${label}: variant ${variant.name} is for nt, not ${layout}`);
    }
    const [columnGroups, rowGroups] = [Math.ceil(columns / (LANES * 4)), Math.ceil(rows / ROWS)];
    gpu.dispatch(
      { label, code: isFew ? fewRowsCode : uniformCode, defines: { ...shared, LANES, ROWS } },
      isFew ? parameters : { ...parameters, tileRows: ROWS },
      tensors,
      layout === "nt" ? [columnGroups, rowGroups] : [rowGroups, columnGroups],
      cost,
    );
  } else if (variant.sharing === "matrix") {
    if (layout === "tn") throw new Error(`${label}: variant ${variant.name} is not for tn`);
    const { m: MM, n: MN, k: MK, sx: SX, sy: SY, rm: RM, rn: RN, tk: TK, ...tile } = variant.tile;
    const { subgroup: SUBGROUP, writes: WRITES, isPair: PAIR } = tile;
    const SCANNED = !options.rowScales && isScanned(rows, depth);
    const sizes = { MM, MN, MK, SX, SY, RM, RN, TK, SUBGROUP, WRITES, PAIR, SCANNED };
    gpu.scope(() => {
      if (options.rowScales) tensors.rowScales = options.rowScales;
      else if (!SCANNED) {
        tensors.rowScales = gpu.tensor([rows], "f32", "row scales");
        rowScale(gpu, a, tensors.rowScales, { first: firstColumnOfA, columns: depth });
      }
      gpu.dispatch(
        { label, code: matrixCode, defines: { ...shared, ...sizes } },
        parameters,
        tensors,
        [Math.ceil(columns / (SX * RN * MN)), Math.ceil(rows / (SY * RM * MM))],
        cost,
      );
    });
  } else if (variant.sharing === "streamed") {
    if (layout !== "nt") throw new Error(`${label}: variant ${variant.name} is for nt`);
    const { rows: ROWS, columns: COLUMNS, terms: TERMS, lanes: LANES } = variant.tile;
    gpu.dispatch(
      { label, code: streamedCode, defines: { ...shared, ROWS, COLUMNS, TERMS, LANES } },
      parameters,
      tensors,
      [Math.ceil(columns / COLUMNS), Math.ceil(rows / ROWS)],
      cost,
    );
  } else {
    const { rm: RM, rn: RN, lx: LX, ly: LY, tk: TK } = variant.tile;
    gpu.dispatch(
      { label, code: tiledCode, defines: { ...shared, RM, RN, LX, LY, TK } },
      parameters,
      tensors,
      [Math.ceil(columns / (LX * RN)), Math.ceil(rows / (LY * RM))],
      cost,
    );
  }
}

function furtherParameters({ further, projections }: FurtherTerms): Record<string, number> {
  const parameters: Record<string, number> = { rank: further.shape[1] };
  projections.forEach(({ firstColumn, columns, firstRow }, n) => {
    parameters[`from${n}`] = firstColumn;
    parameters[`to${n}`] = firstColumn + columns;
    parameters[`row${n}`] = firstRow;
  });
  return parameters;
}
