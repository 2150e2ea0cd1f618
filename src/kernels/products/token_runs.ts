import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { expectShape } from "../parts/expect_shape.ts";
import { slabTerms } from "./half_rows.ts";
import largestText from "./largest_of_runs.wgsl" with { type: "text" };
import { composeProducts } from "./parts/compose.ts";

const code = composeProducts(largestText);
const LANES = 64;

/**
 * Rows of a batch that stay together however it is cut: prompts, and what follows them. Sums over tokens on matrix units
 * take whole blocks of a run's rows. T rows.
 */
export interface TokenRuns {
  readonly count: number;
  /** u32 [slabs, 4] of gemm_matrix_runs.wgsl */
  readonly slabs: Tensor;
  /** u32 [T] */
  readonly runOfRow: Tensor;
  /** u32 [blocks, 2] of block_products.wgsl: a run's tokens, `tokensOfBlock` at a time from its first on. */
  readonly blocks: Tensor;
}

/** So few that a pass has blocks for every core, and so many that adding them is little beside making them. */
export const tokensOfBlock = 256;

/**
 * Runs that fill a batch.
 *
 * @param starts where each begins, ascending from 0; those of no rows are left out
 * @param rows T
 * @returns null on devices whose sums over tokens are chains, which need none
 * @throws Error when rows would belong to no run
 */
export function tokenRuns(gpu: Gpu, starts: readonly number[], rows: number): TokenRuns | null {
  if (gpu.tuning.bits !== "mma") return null;
  if (starts[0] !== 0 || starts.some((start, run) => start > (starts[run + 1] ?? rows))) {
    throw new Error(`runs of ${rows} rows begin at ${starts}`);
  }
  const begin = starts.filter((start, run) => start < (starts[run + 1] ?? rows));
  const runOfRow = new Uint32Array(rows);
  const slabs: number[] = [], blocks: number[] = [];
  const most = slabTerms(gpu.tuning);
  begin.forEach((start, run) => {
    const end = begin[run + 1] ?? rows;
    runOfRow.fill(run, start, end);
    for (let row = start; row < end; row += most) {
      slabs.push(row, Math.min(most, end - row), run, 0);
    }
    for (let row = start; row < end; row += tokensOfBlock) {
      blocks.push(row, Math.min(tokensOfBlock, end - row));
    }
  });
  return {
    count: begin.length,
    slabs: gpu.from(Uint32Array.from(slabs), [slabs.length / 4, 4], "u32", "slabs of runs"),
    runOfRow: gpu.from(runOfRow, [rows], "u32", "runs of rows"),
    blocks: gpu.from(Uint32Array.from(blocks), [blocks.length / 2, 2], "u32", "blocks of runs"),
  };
}

/**
 * The largest magnitudes of each run.
 *
 * @param tensors [T, columns] or [T], of which the largest is found together
 * @returns u32 [runs] the bits of f32 numbers
 */
export function largestOfRuns(gpu: Gpu, runs: TokenRuns, tensors: readonly Tensor[]): Tensor {
  const largest = gpu.zeros([runs.count], "u32", "largest of runs");
  const [rows] = runs.runOfRow.shape;
  for (const x of tensors) {
    expectShape("largest of runs", "x", x, [rows, ...x.shape.slice(1)]);
    const columns = x.size / rows;
    gpu.dispatch(
      { label: "largest of runs", code, defines: { LANES } },
      { rows, columns, stride: columns },
      { x, runOfRow: runs.runOfRow, largest },
      gpu.grid(rows),
      { bytes: 4 * x.size },
    );
  }
  return largest;
}
