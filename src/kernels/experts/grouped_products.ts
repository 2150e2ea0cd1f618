import type { Gpu } from "../../gpu/gpu.ts";
import { bytesOf, type Tensor } from "../../gpu/tensor.ts";
import type { Tuning } from "../../gpu/tuning.ts";
import type { LaunchCost } from "../../gpu/recording/submit_pacing.ts";
import type { Activation } from "../parts/activation.ts";
import { compose } from "../parts/compose.ts";
import { expectShape, expectVectors } from "../parts/expect_shape.ts";
import gradientText from "./grouped_gradient.wgsl" with { type: "text" };
import productText from "./grouped_product.wgsl" with { type: "text" };
import type { Grouping } from "./grouping.ts";
import grouped_write from "./parts/grouped_write.wgsl" with { type: "text" };

const productCode = compose(productText, { grouped_write });
const gradientCode = compose(gradientText);

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

/** What a workgroup makes of C, and for whose lanes. */
export interface GroupedTile {
  /** A multiple of 4 where it is a gradient's. */
  readonly rows: number;
  /** Each with four columns. */
  readonly lanes: number;
  /** Sums may lie in memory, as a CPU's lanes have them. */
  readonly isLooped: boolean;
}

/** Rows that a tile of a product may have. */
const tileRows = [1, 4, 8, 16] as const;

/** Cost of loading the columns of B in a tile, in rows of A and their products: see gemm_variants.ts. */
const rowsOfLoads = 5;

/** The most tiles that pairs may come to: one more than are full for each expert that has any. */
function mostTiles(pairs: number, experts: number, rows: number): number {
  const used = Math.min(pairs, experts);
  return used + Math.floor((pairs - used) / rows);
}

/** The tile for so many pairs that costs least when all experts have about as many. */
function tileRowsFor(pairs: number, experts: number): number {
  const each = pairs / Math.min(pairs, experts);
  const cost = (rows: number) => Math.ceil(each / rows) * (rows + rowsOfLoads);
  return tileRows.toSorted((a, b) => cost(a) - cost(b))[0];
}

/** A tile of so many rows on a device. */
const tileOn = ({ lanes }: Tuning, rows: number, columns: number): GroupedTile => ({
  rows,
  lanes: lanes === "gpu" ? 32 : columns > 32 ? 16 : 8,
  isLooped: lanes === "cpu",
});

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
  const tile = asked ?? tileOn(gpu.tuning, tileRowsFor(pairs, experts), columns);
  const { rows: ROWS, lanes: LANES, isLooped: LOOPED } = tile;
  const PICKED = rowsOf === "tokens";
  const defines = {
    LAYOUT: layout === "nt" ? 0 : 1,
    STORAGE: stacked.dtype,
    PICKED,
    GATED: gated !== undefined,
    KEPT: gated !== undefined && gated.kept !== null,
    GELU: gated?.activation === "gelu",
    ...{ LOOPED, ROWS, LANES },
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
  const columnGroups = Math.ceil(columns / (4 * LANES));
  inLaunches(gpu, cost, mostTiles(pairs, experts, ROWS), (firstTile, count, share) =>
    gpu.dispatch(
      { label, code: productCode, defines },
      { experts, firstTile, tileRows: ROWS, columns, depth, chosen },
      tensors,
      layout === "nt" ? [columnGroups, count] : [count, columnGroups],
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
  const tile = asked ?? tileOn(gpu.tuning, rows <= 8 ? 8 : 16, columns);
  const { rows: ROWS, lanes: LANES, isLooped: LOOPED } = tile;
  const cost: LaunchCost = {
    kind: "products",
    flops: 2 * pairs * columns * rows,
    bytes: 8 * Math.min(pairs, experts) * columns * rows + 4 * pairs * (columns + rows),
  };
  const [rowGroups, columnGroups] = [Math.ceil(rows / ROWS), Math.ceil(columns / (4 * LANES))];
  inLaunches(gpu, cost, experts, (firstExpert, count, share) =>
    gpu.dispatch(
      { label, code: gradientCode, defines: { PICKED: ofTokens, ROWS, LANES, LOOPED } },
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
