import type { Gpu } from "../../gpu/gpu.ts";
import { bytesOf, type Tensor } from "../../gpu/tensor.ts";
import type { LaunchCost } from "../../gpu/recording/submit_pacing.ts";
import type { Activation } from "../parts/activation.ts";
import { compose } from "../parts/compose.ts";
import { expectShape, expectVectors } from "../parts/expect_shape.ts";
import gradientText from "./grouped_gradient.wgsl" with { type: "text" };
import tiledGradientText from "./grouped_gradient_tiled.wgsl" with { type: "text" };
import productText from "./grouped_product.wgsl" with { type: "text" };
import tiledText from "./grouped_product_tiled.wgsl" with { type: "text" };
import {
  columnsOfTile,
  gradientTile,
  type GroupedTile,
  productTile,
  rowsOfTile,
} from "./grouped_tiles.ts";
import type { Grouping } from "./grouping.ts";
import grouped_bindings from "./parts/grouped_bindings.wgsl" with { type: "text" };
import grouped_further from "./parts/grouped_further.wgsl" with { type: "text" };
import grouped_gradient_bindings from "./parts/grouped_gradient_bindings.wgsl" with {
  type: "text",
};
import grouped_write from "./parts/grouped_write.wgsl" with { type: "text" };

const parts = { grouped_bindings, grouped_further, grouped_gradient_bindings, grouped_write };
const [productCode, tiledCode, gradientCode, tiledGradientCode] = [
  productText,
  tiledText,
  gradientText,
  tiledGradientText,
].map((text) => compose(text, parts));

/** The matrices of E experts [O, I], one after the other. */
export interface ExpertMatrices {
  /** [E · O, I], f32, f16, bf16 or in quantised blocks */
  readonly stacked: Tensor;
  /** E */
  readonly experts: number;
}

/** Rows that products take: one for each token, which all pairs of the token share, or one for each place. */
export type RowsOf = "tokens" | "places";

/** One of equal parts that something lies in, one after the other. */
export interface Part {
  /** Counted from 0. */
  readonly index: number;
  readonly count: number;
}

/** What an adapter adds to products of experts: inner · further ᵀ, for all columns, or by itself for gate and up. */
export interface GroupedFurtherTerms {
  /** [P, n · rank], n = 1, or gated 1 or 2 */
  readonly inner: Tensor;
  /** [E · O, rank] */
  readonly further: Tensor;
}

/** Options of `groupedProduct`. */
export interface GroupedOptions {
  readonly label: string;
  /** What the rows of A belong to. */
  readonly rowsOf: RowsOf;
  /** Multiplies the product. */
  readonly scale?: number;
  /** nn: the sums continue from what C holds; not with `scale`. */
  readonly accumulate?: boolean;
  /** nt: terms with which the sums go on; not with `scale`. */
  readonly further?: GroupedFurtherTerms | null;
  /** nn: these of A's terms, with the rows that belong to them of each matrix, make these of C's columns. */
  readonly part?: Part;
  /** nt: the matrices are a gate's rows and then those of what it lets through, and `kept` [P, O] receives both. */
  readonly gated?: { readonly kept: Tensor | null; readonly activation: Activation };
  /** Overrides the choice by device and size. All give the same bits. */
  readonly tile?: GroupedTile;
}

/** The most tiles that pairs may come to: one more than are full for each expert that has any. */
function mostTiles(pairs: number, experts: number, rows: number): number {
  const used = Math.min(pairs, experts);
  return used + Math.floor((pairs - used) / rows);
}

function definesOf(tile: GroupedTile): Readonly<Record<string, number | boolean>> {
  if (tile.sharing === "uniform") return { LANES: tile.lanes, LOOPED: tile.isLooped };
  const { rm: RM, rn: RN, lx: LX, ly: LY, tk: TK } = tile;
  return { RM, RN, LX, LY, TK };
}

/**
 * A's rows times the matrices of their experts: nt, A·Wᵀ, or nn, A·W, each sum in ascending order.
 *
 * @param a [T, I] or [P, I] for P = T · k places (nt; nn: O)
 * @param c [P, O] (nt; nn: I), gated [P, O / 2]
 * @throws Error when the shapes do not fit
 */
export function groupedProduct(
  gpu: Gpu,
  layout: "nt" | "nn",
  a: Tensor,
  { stacked, experts }: ExpertMatrices,
  grouping: Grouping,
  c: Tensor,
  { label, rowsOf, gated, scale, accumulate = false, further, part = whole, tile: asked }:
    GroupedOptions,
): void {
  const [rows, width] = stacked.shape;
  const { offsets, list, chosen } = grouping;
  const [pairs] = list.shape;
  const outputs = rows / experts;
  const [columns, depth] = layout === "nt" ? [outputs, width] : [width, outputs / part.count];
  expectShape(label, "matrices", stacked, [-1, width], stacked.dtype);
  expectShape(label, "A", a, [rowsOf === "tokens" ? pairs / chosen : pairs, depth * part.count]);
  expectShape(label, "C", c, [pairs, gated ? columns / 2 : columns * part.count]);
  expectShape(label, "offsets", offsets, [experts + 1], "u32");
  expectVectors(label, "a row of A", depth);
  expectVectors(label, "a row of C", gated ? c.shape[1] : columns);
  const isOfOther = layout === "nt"
    ? accumulate || part.count !== 1
    : gated !== undefined || Boolean(further);
  if (isOfOther || scale !== undefined && (accumulate || gated || further)) {
    throw new Error(
      `${label}: accumulate and part are of nn, gated and further of nt, and scale goes with none but part`,
    );
  }
  if (gated?.kept) expectShape(label, "gate and up", gated.kept, [pairs, columns]);
  const innerParts = further
    ? expectFurther(label, [pairs, rows], further, gated !== undefined)
    : null;
  const tile = asked ?? productTile(gpu.tuning, pairs / Math.min(pairs, experts), columns);
  const ROWS = rowsOfTile(tile);
  const PICKED = rowsOf === "tokens";
  const defines = {
    LAYOUT: layout === "nt" ? 0 : 1,
    STORAGE: stacked.dtype,
    PICKED,
    GATED: gated !== undefined,
    KEPT: gated !== undefined && gated.kept !== null,
    GELU: gated?.activation === "gelu",
    SCALE: scale !== undefined,
    ACCUMULATE: accumulate,
    ADAPTED: innerParts !== null,
    ROWS,
    ...definesOf(tile),
  };
  const rank = further ? further.further.shape[1] : 0;
  const parameters = {
    ...{ experts, tileRows: ROWS, columns, depth, chosen },
    strideA: a.shape[1],
    strideC: c.shape[1],
    firstA: part.index * depth,
    firstC: part.index * columns,
    matrixRows: outputs,
    firstB: part.index * depth,
    scale: scale ?? 1,
    ...(innerParts === null ? {} : { rank, innerParts }),
  };
  const tensors = {
    ...{ a, b: stacked, c, offsets },
    ...(PICKED ? { list } : {}),
    ...(gated?.kept ? { gateUp: gated.kept } : {}),
    ...(further ? { inner: further.inner, further: further.further } : {}),
  };
  const cost: LaunchCost = {
    kind: "products",
    flops: 2 * pairs * columns * (depth + rank),
    bytes: Math.min(pairs, experts) * columns * (bytesOf(stacked.dtype) * depth + 4 * rank) +
      4 * pairs * (columns + depth + rank * (innerParts ?? 0)),
  };
  const columnGroups = Math.ceil(columns / columnsOfTile(tile));
  const isTiled = tile.sharing === "tiled";
  const code = isTiled ? tiledCode : productCode;
  inLaunches(gpu, cost, mostTiles(pairs, experts, ROWS), (firstTile, count, share) =>
    gpu.dispatch(
      { label, code, defines },
      { ...parameters, firstTile },
      tensors,
      isTiled || layout === "nt" ? [columnGroups, count] : [count, columnGroups],
      share,
    ));
}

const whole: Part = { index: 0, count: 1 };

/** @returns the projections whose terms lie side by side in a row of inner */
function expectFurther(
  label: string,
  [pairs, rows]: readonly [number, number],
  { inner, further }: GroupedFurtherTerms,
  isGated: boolean,
): number {
  const [, rank] = further.shape;
  const innerParts = inner.shape[1] / rank;
  expectShape(label, "further terms", further, [rows, rank]);
  expectShape(label, "inner", inner, [pairs, innerParts * rank]);
  expectVectors(label, "a row of further terms", rank);
  if (innerParts !== 1 && !(isGated && innerParts === 2)) {
    throw new Error(`${label}: inner [${inner.shape}] for terms of rank ${rank}`);
  }
  return innerParts;
}

/** The factors of a gradient of experts' matrices, with rows of tokens or of places. */
export interface GroupedFactors {
  /** [T, O] or [P, O] */
  readonly a: Tensor;
  /** [P, I] or [T, I] */
  readonly b: Tensor;
  /** Which of them has rows of tokens, if any. */
  readonly ofTokens: "a" | "b" | "none";
  /** These of the columns of A, with these of B's, make these of an expert's rows; by default all. */
  readonly part?: Part;
}

/**
 * Adds Aᵀ·B of each expert's places to the gradient of its matrix, in ascending order of tokens.
 *
 * @param gradient as the stacked matrices, f32
 * @param asked overrides the tile; all give the same bits
 * @throws Error when the shapes do not fit
 */
export function groupedGradient(
  gpu: Gpu,
  label: string,
  { a, b, ofTokens, part = whole }: GroupedFactors,
  { offsets, list, chosen }: Grouping,
  { stacked: gradient, experts }: ExpertMatrices,
  asked?: GroupedTile,
): void {
  const [pairs] = list.shape;
  const [rows, columns] = [a.shape[1] / part.count, b.shape[1] / part.count];
  const rowsOfFactor = (factor: "a" | "b") => factor === ofTokens ? pairs / chosen : pairs;
  expectShape(label, "A", a, [rowsOfFactor("a"), rows * part.count]);
  expectShape(label, "B", b, [rowsOfFactor("b"), columns * part.count]);
  expectShape(label, "gradient", gradient, [experts * rows * part.count, columns]);
  expectShape(label, "offsets", offsets, [experts + 1], "u32");
  expectVectors(label, "a row of A", rows);
  expectVectors(label, "a row of B", columns);
  const tile = asked ?? gradientTile(gpu.tuning, rows, columns);
  const ROWS = rowsOfTile(tile);
  const code = tile.sharing === "tiled" ? tiledGradientCode : gradientCode;
  const cost: LaunchCost = {
    kind: "products",
    flops: 2 * pairs * columns * rows,
    bytes: 8 * Math.min(pairs, experts) * columns * rows + 4 * pairs * (columns + rows),
  };
  const rowGroups = Math.ceil(rows / ROWS), columnGroups = Math.ceil(columns / columnsOfTile(tile));
  const parameters = {
    ...{ tileRows: ROWS, rows, columns, chosen },
    ...{ strideA: a.shape[1], strideB: b.shape[1] },
    ...{ firstA: part.index * rows, firstB: part.index * columns },
    ...{ matrixRows: rows * part.count, firstC: part.index * rows },
  };
  inLaunches(gpu, cost, experts, (firstExpert, count, share) =>
    gpu.dispatch(
      { label, code, defines: { PICKED: ofTokens, ROWS, ...definesOf(tile) } },
      { ...parameters, firstExpert },
      { a, b, c: gradient, offsets, ...(ofTokens === "none" ? {} : { list }) },
      [rowGroups, columnGroups, count],
      share,
    ));
}

/** Work in parts that are independent, cut so that no launch alone keeps the GPU too long. */
function inLaunches(
  gpu: Gpu,
  cost: LaunchCost,
  parts: number,
  launch: (first: number, count: number, cost: LaunchCost) => void,
): void {
  const launches = Math.min(parts, Math.max(gpu.launchesFor(cost), Math.ceil(parts / 65535)));
  const each = Math.ceil(parts / Math.max(1, launches));
  for (let first = 0; first < parts; first += each) {
    const count = Math.min(each, parts - first);
    const share = count / parts;
    launch(first, count, {
      ...cost,
      bytes: share * cost.bytes,
      flops: share * (cost.flops ?? 0),
    });
  }
}
