import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { UserError } from "../../base/user_error.ts";
import backwardCode from "./embedding_backward.wgsl" with { type: "text" };
import { expectShape, expectVectors } from "../parts/expect_shape.ts";
import { gatherRows } from "./gather_rows.ts";

/** Some rows of an embedding table; a table too large for one binding lies in several tiles. */
export interface TableTile {
  /** Token id of the first row. */
  readonly firstRow: number;
  /** [V, D] in f32, f16, bf16 or quantised blocks, D a multiple of 4 */
  readonly rows: Tensor;
}

/**
 * output[t] = table[tokens[t]].
 *
 * @param tiles of the table, in order and without gaps
 * @param tokens u32 [T]; one beyond the table gives a row of zeros
 * @param output f32 [T, D]
 * @throws Error when the shapes do not fit
 */
export function embeddingForward(
  gpu: Gpu,
  tiles: readonly TableTile[],
  tokens: Tensor,
  output: Tensor,
): void {
  tiles.forEach(({ firstRow, rows }, index) => {
    gatherRows(gpu, rows, tokens, output, { firstRow, keep: index > 0 });
  });
}

/** The positions of a batch grouped by token, for `embeddingBackward`; whoever made it releases it. */
export interface EmbeddingPlan {
  /** u32 [T], by token and then ascending */
  readonly positions: Tensor;
  /** u32 [U]: the U distinct tokens, ascending */
  readonly tokens: Tensor;
  /** u32 [U + 1]: where each token's positions start, and T */
  readonly starts: Tensor;
  /** Number of tokens in the vocabulary; every token is below it. */
  readonly vocabularySize: number;
}

/**
 * Groups the positions of T tokens by token, on the CPU, by counting.
 *
 * @param vocabularySize V; without it only `embeddingBackward` checks the tokens
 * @throws UserError when a token is not below V
 * @throws Error when there is no token
 */
export function embeddingPlan(
  gpu: Gpu,
  tokens: Uint32Array,
  vocabularySize = tokens.reduce((largest, token) => Math.max(largest, token), 0) + 1,
): EmbeddingPlan {
  if (tokens.length === 0) {
    throw new Error("embeddingPlan: found no tokens, expected at least 1");
  }
  const counts = new Uint32Array(vocabularySize);
  for (const [position, token] of tokens.entries()) {
    if (token >= vocabularySize) {
      throw new UserError(
        `token ${token} at position ${position} of the batch: expected one below ${vocabularySize}; ` +
          `does the tokenizer belong to this model?`,
      );
    }
    counts[token]++;
  }
  const distinct: number[] = [];
  const starts: number[] = [];
  const cursor = new Uint32Array(vocabularySize);
  let start = 0;
  counts.forEach((count, token) => {
    if (count === 0) return;
    distinct.push(token);
    starts.push(start);
    cursor[token] = start;
    start += count;
  });
  starts.push(start);
  const positions = new Uint32Array(tokens.length);
  tokens.forEach((token, position) => positions[cursor[token]++] = position);
  const upload = (data: Uint32Array, label: string) => gpu.from(data, [data.length], "u32", label);
  return {
    positions: upload(positions, "embedding positions"),
    tokens: upload(Uint32Array.from(distinct), "embedding tokens"),
    starts: upload(Uint32Array.from(starts), "embedding starts"),
    vocabularySize,
  };
}

/**
 * Adds the gradient of `embeddingForward` to the table's: each token's positions in ascending order,
 * starting from what is there, so that one batch and its micro-batches in turn give the same bits.
 *
 * @param outputGradient [T, D]
 * @param plan from `embeddingPlan` for the batch's tokens
 * @param gradientTiles tiles of the table's gradient, in order and without gaps; they are added to
 * @throws UserError when a token has no row in the table
 * @throws Error when the shapes do not fit
 */
export function embeddingBackward(
  gpu: Gpu,
  outputGradient: Tensor,
  plan: EmbeddingPlan,
  gradientTiles: readonly TableTile[],
): void {
  const { positions, tokens, starts } = plan;
  const [, width] = outputGradient.shape;
  const distinct = tokens.shape[0];
  expectShape("embeddingBackward", "outputGradient", outputGradient, [positions.shape[0], width]);
  expectVectors("embeddingBackward", "a row", width);
  const tableRows = gradientTiles.reduce((sum, { rows }) => sum + rows.shape[0], 0);
  if (plan.vocabularySize > tableRows) {
    throw new UserError(
      `The batch's tokens go up to ${
        plan.vocabularySize - 1
      }, the model has ${tableRows}; does the ` +
        `tokenizer belong to this model?`,
    );
  }
  const y = Math.min(distinct, 65535);
  for (const { firstRow, rows: weightGradient } of gradientTiles) {
    expectShape("embeddingBackward", "weightGradient", weightGradient, [-1, width]);
    gpu.dispatch(
      { label: "embedding backward", code: backwardCode },
      { distinct, vectors: width / 4, firstRow, rows: weightGradient.shape[0] },
      { outputGradient, positions, tokens, starts, weightGradient },
      [Math.ceil(width / 64), y, Math.ceil(distinct / y)],
      { bytes: outputGradient.bytes + 8 * distinct * width },
    );
  }
}
