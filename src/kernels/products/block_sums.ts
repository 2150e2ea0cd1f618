import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { expectShape } from "../parts/expect_shape.ts";
import productsText from "./block_products.wgsl" with { type: "text" };
import sumsText from "./block_sums.wgsl" with { type: "text" };
import { composeProducts } from "./parts/compose.ts";
import { type TokenRuns, tokensOfBlock } from "./token_runs.ts";

const productsCode = composeProducts(productsText);
const LANES = 64;

/** Tokens that pass through workgroup memory at a time. */
const TK = 16;

/** Elements of blocks' sums that are kept at a time, at most. */
const mostSums = 2 ** 24;

/**
 * Blocks whose sums are kept at a time. As many for a pass of many short runs as for one of few long ones, so that a plan of
 * memory holds for both: twice the blocks of a pass that is one run.
 */
const blocksAtOnce = (tokens: number, elements: number): number =>
  Math.max(1, Math.min(Math.floor(mostSums / elements), Math.ceil(2 * tokens / tokensOfBlock)));

/** The factors of sums over tokens. */
export interface TokenFactors {
  /** [T, stride]: in it the columns that make C's rows, from a multiple of 4 on. */
  readonly a: Tensor;
  readonly firstColumnOfA?: number;
  /** [T, stride]: in it those that make C's columns. */
  readonly b: Tensor;
  readonly firstColumnOfB?: number;
}

/**
 * Adds Aᵀ·B, a sum over tokens, to C, block by block of the runs' tokens: each block one ascending chain, blocks in
 * ascending order, so that no cut of a batch between runs shows. Many narrow sums side by side, for the gradients of
 * adapters. Call inside a `gpu.scope`.
 *
 * @param c [rows, columns], columns a multiple of 4
 * @throws Error when the shapes do not fit
 */
export function addTokenSums(
  gpu: Gpu,
  label: string,
  { a, b, firstColumnOfA: firstA = 0, firstColumnOfB: firstB = 0 }: TokenFactors,
  { blocks }: TokenRuns,
  c: Tensor,
): void {
  const [rows, columns] = c.shape;
  const [tokens, strideA] = a.shape, [, strideB] = b.shape;
  expectShape(label, "A", a, [tokens, -1]);
  expectShape(label, "B", b, [tokens, -1]);
  expectShape(label, "C", c, [-1, -1]);
  const fits = firstA + rows <= strideA && firstB + columns <= strideB &&
    [columns, strideA, strideB, firstA, firstB].every((one) => one % 4 === 0);
  if (!fits) throw new Error(`${label}: A [${a.shape}], B [${b.shape}], C [${c.shape}] do not fit`);
  // Narrow on one side: as many lanes on the other.
  const LX = columns <= 16 ? 4 : rows <= 16 ? 16 : 8;
  const LY = LANES / LX;
  const [all] = blocks.shape;
  const atOnce = blocksAtOnce(tokens, c.size);
  for (let firstBlock = 0; firstBlock < all; firstBlock += atOnce) {
    const count = Math.min(atOnce, all - firstBlock);
    const share = tokens * count / all;
    gpu.scope(() => {
      const sums = gpu.tensor([atOnce, rows, columns], "f32", "sums of blocks");
      gpu.dispatch(
        { label, code: productsCode, defines: { LX, LY, TK } },
        { rows, columns, strideA, strideB, firstA, firstB, firstBlock },
        { a, b, blocks, sums },
        [Math.ceil(columns / 4 / LX), Math.ceil(rows / 4 / LY), count],
        {
          kind: "products",
          flops: 2 * rows * columns * share,
          bytes: 4 * ((rows + columns) * share + c.size * count),
        },
      );
      const vectors = c.size / 4;
      gpu.dispatch(
        { label: `${label} blocks`, code: sumsText, defines: { LANES } },
        { vectors, blocks: count },
        { sums, c },
        gpu.grid(Math.ceil(vectors / LANES)),
        { bytes: 4 * c.size * (count + 2) },
      );
    });
  }
}
