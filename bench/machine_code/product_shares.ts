import { bytesOf } from "../../src/gpu/tensor.ts";
import { gemmOperation, type GemmShape } from "../../src/kernels/products/gemm_variants.ts";
import type { GemmTile } from "../../src/kernels/products/gemm_tiles.ts";
import type { Tuning } from "../../src/gpu/tuning.ts";
import type { GpuLimits } from "./gpu_limits.ts";
import type { InnerLoop } from "./inner_loop.ts";
import type { KernelCode } from "./kernel_code.ts";
import { readingCycles, readingLanes, share } from "./shares.ts";

/**
 * The share of a GPU's limit that a product reaches at most. The limit is the longer of two times, that of its fma
 * and that in which memory gives both factors and takes C once. What the kernel takes is the longest of these:
 * - A core's issue of instructions, one for all its lanes in a cycle, as the inner loop has them.
 * - A core's reads of workgroup memory: lanes in a row of the workgroup read different vectors of B, those in a column
 *   different ones of A, the rest the same.
 * - Memory, as in the limit.
 *
 * Cores take workgroups in rounds, the last of which may leave some idle, and edges count as if they were full. What
 * waits for what is not in it.
 */
export function productShare(
  shape: GemmShape,
  { rm, rn, lx, ly, tk }: GemmTile,
  loop: InnerLoop,
  limits: GpuLimits,
): number {
  const { cores, lanes, clock } = limits;
  const { rows, columns, depth, storage } = shape;
  const groups = Math.ceil(rows / (ly * rm)) * Math.ceil(columns / (lx * rn));
  const rounds = Math.ceil(groups / cores);
  const issue = loop.instructions / tk * lx * ly / lanes;
  const reads = rn * readingCycles(Math.min(lx, readingLanes)) +
    rm * readingCycles(readingLanes / lx);
  const shared = reads / 4 * Math.ceil(lx * ly / readingLanes);
  const inCores = rounds * depth * Math.max(issue, shared) / clock;
  const bytes = 4 * rows * depth + bytesOf(storage) * columns * depth + 4 * rows * columns;
  return share({ multiplyAdds: rows * columns * depth, bytes }, { inCores, bytes }, limits);
}

/** The products of a layer of Qwen2.5-0.5B, in training on 16k tokens and in decoding, and the tiles they take. */
export function judgedProducts(tuning: Tuning) {
  const [C, I, qkv, rank] = [896, 4864, 1152, 16];
  const training = 16384;
  const product = (
    what: string,
    layout: GemmShape["layout"],
    rows: number,
    columns: number,
    depth: number,
  ) => {
    const storage = layout === "tn" || columns === rank ? "f32" : "bf16";
    const shape: GemmShape = { layout, storage, rows, columns, depth };
    const [variant] = gemmOperation.variantsFor(tuning, shape);
    if (variant.sharing !== "tiled") throw new Error("a GPU's products are tiled");
    return { what, shape, tile: variant.tile };
  };
  return [
    product("qkv", "nt", training, qkv, C),
    product("gate and up", "nt", training, 2 * I, C),
    product("down", "nt", training, C, I),
    product("down, input gradient", "nn", training, I, C),
    product("adapter, weight gradient", "tn", C, rank, training),
    product("gate and up, 64 sequences", "nt", 64, 2 * I, C),
    product("down, 64 sequences", "nt", 64, C, I),
    product("gate and up, 1 sequence", "nt", 1, 2 * I, C),
    product("qkv, 1 sequence", "nt", 1, qkv, C),
    product("attention's output, 1 sequence", "nt", 1, C, C),
    product("down, 1 sequence", "nt", 1, C, I),
  ];
}

/** The inner loop of the kernel that a product takes. */
export function loopOf(
  kernels: readonly KernelCode[],
  { layout, storage }: GemmShape,
  { rm, rn, lx, ly }: GemmTile,
): InnerLoop | null {
  const number = ["nt", "nn", "tn"].indexOf(layout);
  const found = kernels.find(({ kernel }) =>
    kernel.includes(` LAYOUT=${number} STORAGE=${storage} `) &&
    kernel.includes(` RM=${rm} RN=${rn} LX=${lx} LY=${ly} `)
  );
  return found?.loop ?? null;
}
