import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { multipliesHalves, type Tuning } from "../../gpu/tuning.ts";
import { expectShape } from "../parts/expect_shape.ts";
import halfRowsText from "./half_rows.wgsl" with { type: "text" };
import type { GemmProduct } from "./gemm_product.ts";
import { composeProducts } from "./parts/compose.ts";

const code = composeProducts(halfRowsText);
const LANES = 64;

/** Rows of a matrix as matrix units take them, made once for all tiles of all products that they are a factor of. */
export interface HalfRows {
  /** f16 [rows, rounded up to whole matrices, terms, rounded up to whole slabs]: each row by its scale; twice as many
   * terms where a factor is two f16, the high parts before the low ones. */
  readonly halves: Tensor;
  /** [rows] powers of two */
  readonly scales: Tensor;
}

/** Terms of a slab of the products on matrix units. */
export function slabTerms({ matrix }: Pick<Tuning, "matrix">): number {
  return Math.max(matrix?.K ?? 0, 32);
}

/** Rows rounded up to whole matrices. */
function wholeRows({ matrix }: Tuning, rows: number): number {
  const of = matrix?.M ?? 1;
  return Math.ceil(rows / of) * of;
}

/** f16 of a row of so many terms. */
function termsOf(tuning: Tuning, depth: number): number {
  const slab = slabTerms(tuning);
  return Math.ceil(depth / slab) * slab * (tuning.bits === "mma-pair" ? 2 : 1);
}

/** Room for so many rows, which something else fills. */
function emptyHalfRows(gpu: Gpu, rows: number, columns: number): HalfRows {
  const shape = [wholeRows(gpu.tuning, rows), termsOf(gpu.tuning, columns)];
  return {
    halves: gpu.tensor(shape, "f16", "half rows"),
    scales: gpu.tensor([rows], "f32", "row scales"),
  };
}

/** How kernels write half rows: what the texts want to know. */
export function halfRowDefines({ bits, matrix }: Tuning) {
  return { SLAB: slabTerms({ matrix }), PAIR: bits === "mma-pair" };
}

/**
 * The rows of A in f16, each multiplied by the power of two that brings its largest element near the end of f16's
 * range, [2^14, 2^15). A row of zeros, or with anything that is not finite, is left as it is. Call inside a `gpu.scope`.
 *
 * @param a [≥ rows, stride]
 * @param options the elements of a row that count: first, a multiple of 4, and columns
 * @throws Error when they do not lie in A
 */
export function halfRows(
  gpu: Gpu,
  a: Tensor,
  { rows, first, columns }: {
    readonly rows: number;
    readonly first: number;
    readonly columns: number;
  },
): HalfRows {
  const [, stride] = a.shape;
  const vectors = Math.ceil(columns / 4);
  if (a.shape[0] < rows || first + 4 * vectors > stride || first % 4 !== 0 || stride % 4 !== 0) {
    throw new Error(
      `half rows: ${columns} columns from ${first} of A [${a.shape}] for ${rows} rows`,
    );
  }
  const made = emptyHalfRows(gpu, rows, columns);
  gpu.dispatch(
    { label: "half rows", code, defines: { LANES, ...halfRowDefines(gpu.tuning) } },
    { rows, columns, stride, first },
    { a, ...made },
    gpu.grid(rows),
    { bytes: rows * (16 * vectors + 2 * termsOf(gpu.tuning, columns)) },
  );
  return made;
}

/** Some of the rows, from a multiple of a matrix's rows on. */
export function partOfHalfRows(
  tuning: Tuning,
  { halves, scales }: HalfRows,
  first: number,
  count: number,
): HalfRows {
  const [, terms] = halves.shape;
  return {
    halves: halves.view(first * terms, [wholeRows(tuning, count), terms]),
    scales: scales.view(first, [count]),
  };
}

/** @throws Error when they are not those of a product of so many rows and terms */
export function expectHalfRows(
  label: string,
  tuning: Tuning,
  { halves, scales }: HalfRows,
  rows: number,
  depth: number,
): void {
  expectShape(label, "half rows", halves, [wholeRows(tuning, rows), termsOf(tuning, depth)], "f16");
  expectShape(label, "row scales", scales, [rows]);
}

/**
 * The rows of A as products on matrix units take them. Call inside a `gpu.scope`.
 *
 * @param a [rows, depth]
 * @returns null where each product makes them on its way, or needs none
 */
export function halfRowsOf(gpu: Gpu, a: Tensor): HalfRows | null {
  const [rows, depth] = a.shape;
  if (!multipliesHalves(gpu.tuning) || isScanned(rows, depth)) return null;
  return halfRows(gpu, a, { rows, first: 0, columns: depth });
}

/**
 * Room for the rows of A as products on matrix units take them, for what makes A to fill on its way.
 *
 * @returns null where each product makes them on its way, or needs none, or they are too many to make at once
 */
export function roomForHalfRows(gpu: Gpu, [rows, depth]: readonly number[]): HalfRows | null {
  const { tuning } = gpu;
  if (!multipliesHalves(tuning) || isScanned(rows, depth)) return null;
  return bytesOfHalves(tuning, rows, depth) <= mostBytes ? emptyHalfRows(gpu, rows, depth) : null;
}

const bytesOfHalves = (tuning: Tuning, rows: number, depth: number) =>
  2 * rows * termsOf(tuning, depth);

/** Bytes of rows in f16 that a product makes at a time, at most: of a gradient by the vocabulary they are many. */
const mostBytes = 2 ** 26;

/** Launches that a product is cut into so that its own rows in f16 stay small. */
export function launchesForHalves(
  tuning: Tuning,
  { layout, rows, depth, options }: Pick<GemmProduct, "layout" | "rows" | "depth" | "options">,
): number {
  if (!multipliesHalves(tuning) || layout === "tn" || options.halfRows) return 1;
  return Math.ceil(bytesOfHalves(tuning, rows, depth) / mostBytes);
}

/**
 * Loads that a workgroup waits for one after the other, at most, to look for its rows' largest elements itself, instead
 * of a launch before it: 0.3 microseconds each, in the three that a launch takes.
 */
const mostScans = 10;

/** Whether so few: gemm_matrix.wgsl looks at four rows at once, with 128 lanes or more. */
export const isScanned = (rows: number, depth: number) =>
  Math.ceil(rows / 4) * Math.ceil(depth / 4 / 128) <= mostScans;
