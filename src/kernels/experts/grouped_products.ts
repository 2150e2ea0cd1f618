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
import grouped_gradient_bindings from "./parts/grouped_gradient_bindings.wgsl" with {
  type: "text",
};
import grouped_write from "./parts/grouped_write.wgsl" with { type: "text" };

const parts = { grouped_bindings, grouped_gradient_bindings, grouped_write };
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

/** Options of `groupedProduct`. */
export interface GroupedOptions {
  readonly label: string;
  /** What the rows of A belong to. */
  readonly rowsOf: RowsOf;
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
  { label, rowsOf, gated, tile: asked }: GroupedOptions,
): void {
  const [rows, width] = stacked.shape;
  const { offsets, list, chosen } = grouping;
  const [pairs] = list.shape;
  const outputs = rows / experts;
  const [columns, depth] = layout === "nt" ? [outputs, width] : [width, outputs];
  expectShape(label, "matrices", stacked, [-1, width], stacked.dtype);
  expectShape(label, "A", a, [rowsOf === "tokens" ? pairs / chosen : pairs, depth]);
  expectShape(label, "C", c, [pairs, gated ? columns / 2 : columns]);
  expectShape(label, "offsets", offsets, [experts + 1], "u32");
  expectVectors(label, "a row of A", depth);
  expectVectors(label, "a row of C", c.shape[1]);
  if (gated && layout !== "nt") throw new Error(`${label}: gated, in layout ${layout}`);
  if (gated?.kept) expectShape(label, "gate and up", gated.kept, [pairs, columns]);
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
    ROWS,
    ...definesOf(tile),
  };
  const tensors = {
    ...{ a, b: stacked, c, offsets },
    ...(PICKED ? { list } : {}),
    ...(gated?.kept ? { gateUp: gated.kept } : {}),
  };
  const cost: LaunchCost = {
    kind: "products",
    flops: 2 * pairs * columns * depth,
    bytes: bytesOf(stacked.dtype) * Math.min(pairs, experts) * columns * depth +
      4 * pairs * (columns + depth),
  };
  const columnGroups = Math.ceil(columns / columnsOfTile(tile));
  const isTiled = tile.sharing === "tiled";
  const code = isTiled ? tiledCode : productCode;
  inLaunches(gpu, cost, mostTiles(pairs, experts, ROWS), (firstTile, count, share) =>
    gpu.dispatch(
      { label, code, defines },
      { experts, firstTile, tileRows: ROWS, columns, depth, chosen },
      tensors,
      isTiled || layout === "nt" ? [columnGroups, count] : [count, columnGroups],
      share,
    ));
}

/** The factors of a gradient of experts' matrices, one with rows of tokens and one with rows of places. */
export interface GroupedFactors {
  /** [T, O] or [P, O] */
  readonly a: Tensor;
  /** [P, I] or [T, I] */
  readonly b: Tensor;
  /** Which of them has rows of tokens. */
  readonly ofTokens: "a" | "b";
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
  { a, b, ofTokens }: GroupedFactors,
  { offsets, list, chosen }: Grouping,
  { stacked: gradient, experts }: ExpertMatrices,
  asked?: GroupedTile,
): void {
  const [pairs] = list.shape;
  const [, rows] = a.shape, [, columns] = b.shape;
  const rowsOfFactor = (factor: "a" | "b") => factor === ofTokens ? pairs / chosen : pairs;
  expectShape(label, "A", a, [rowsOfFactor("a"), rows]);
  expectShape(label, "B", b, [rowsOfFactor("b"), columns]);
  expectShape(label, "gradient", gradient, [experts * rows, columns]);
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
  inLaunches(gpu, cost, experts, (firstExpert, count, share) =>
    gpu.dispatch(
      { label, code, defines: { PICKED: ofTokens, ROWS, ...definesOf(tile) } },
      { firstExpert, tileRows: ROWS, rows, columns, chosen },
      { a, b, c: gradient, offsets, list },
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
