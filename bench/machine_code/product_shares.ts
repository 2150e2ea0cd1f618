import { bytesOf } from "../../src/gpu/tensor.ts";
import {
  gemmLayouts,
  gemmOperation,
  type GemmShape,
  type GemmVariant,
} from "../../src/kernels/products/gemm_variants.ts";
import type { StreamedTile } from "../../src/kernels/products/gemm_streamed_tiles.ts";
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
  const { rows, columns, depth } = shape;
  const groups = Math.ceil(rows / (ly * rm)) * Math.ceil(columns / (lx * rn));
  const rounds = Math.ceil(groups / cores);
  const issue = loop.instructions / tk * lx * ly / lanes;
  const reads = rn * readingCycles(Math.min(lx, readingLanes)) +
    rm * readingCycles(readingLanes / lx);
  const shared = reads / 4 * Math.ceil(lx * ly / readingLanes);
  const inCores = rounds * depth * Math.max(issue, shared) / clock;
  const bytes = bytesOfProduct(shape);
  return share({ multiplyAdds: rows * columns * depth, bytes }, { inCores, bytes }, limits);
}

/** Terms of the inner loop of gemm_streamed.wgsl. */
const streamedLoopTerms = 32;

/**
 * As `productShare`, of gemm_streamed.wgsl: the lanes of the sums, and all lanes' copies of every slab; null where the
 * compiler has unrolled the sums, so that they cannot be told from the copies.
 */
export function streamedShare(
  shape: GemmShape,
  { rows: tileRows, columns: tileColumns, terms, lanes: tileLanes }: StreamedTile,
  { instructions, loops, subgroup }: Pick<KernelCode, "loops" | "instructions" | "subgroup">,
  limits: GpuLimits,
): number | null {
  const { cores, lanes, clock } = limits;
  const { rows, columns, depth } = shape;
  // Slabs and their sums; an adapter's terms are a loop of their own, or count as what is done once.
  const ofSlab = loops.find(({ depth }) => depth === 0);
  const ofSums = loops.find(({ depth }) => depth === 1);
  if (!ofSlab || !ofSums || ofSlab.multiplyAdds > 0) return null;
  const groups = Math.ceil(rows / tileRows) * Math.ceil(columns / tileColumns);
  const summing = Math.ceil(tileRows * tileColumns / subgroup) * subgroup;
  const copies = Math.ceil(depth / terms) * ofSlab.instructions;
  const once = instructions - loops.reduce((sum, loop) => sum + loop.instructions, 0);
  const cycles = depth / streamedLoopTerms * ofSums.instructions * summing / lanes +
    (copies + once) * tileLanes / lanes;
  const inCores = Math.ceil(groups / cores) * cycles / clock;
  const bytes = bytesOfProduct(shape);
  return share({ multiplyAdds: rows * columns * depth, bytes }, { inCores, bytes }, limits);
}

/** Of memory, each once: both factors and C. */
function bytesOfProduct({ rows, columns, depth, storage }: GemmShape): number {
  return 4 * rows * depth + bytesOf(storage) * columns * depth + 4 * rows * columns;
}

/** What is waited for, as measured on recent GPUs: seconds for memory, cycles for the fma before. */
const [memorySeconds, fmaCycles] = [600e-9, 4];

/**
 * The share of memory's rate that a product of few rows reaches at most when workgroups wait too, all of them at once:
 * for memory, which a tile asks for slab by slab, when it is through with the one before, and a streamed one a slab
 * ahead, while each sum's terms wait for one another.
 */
export function waitingShare(
  shape: GemmShape,
  variant: GemmVariant,
  limits: GpuLimits,
): number {
  const { depth } = shape;
  const { clock, bandwidth } = limits;
  const chain = (terms: number) => terms * fmaCycles / clock;
  const waits = () => {
    if (variant.sharing === "streamed") {
      const { terms } = variant.tile;
      return memorySeconds + Math.floor(depth / terms) * Math.max(memorySeconds, chain(terms)) +
        chain(depth % terms);
    }
    if (variant.sharing !== "tiled") throw new Error(`${variant.name} is no kernel of a GPU's`);
    return Math.ceil(depth / variant.tile.tk) * memorySeconds + chain(depth);
  };
  const streamed = bytesOfProduct(shape) / bandwidth;
  return streamed / Math.max(streamed, waits());
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
    const [variant, ...others] = gemmOperation.variantsFor(tuning, shape);
    return { what, shape, variant, others };
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

/** The share that a product reaches at most; null when none of the kernels is its own. */
export function shareOf(
  kernels: readonly KernelCode[],
  shape: GemmShape,
  variant: GemmVariant,
  limits: GpuLimits,
): number | null {
  const number = gemmLayouts.indexOf(shape.layout);
  const code = (numbers: Readonly<Record<string, number>>) =>
    kernels.find(({ kernel }) =>
      kernel.includes(` LAYOUT=${number} STORAGE=${shape.storage} `) &&
      Object.entries(numbers).every(([name, value]) => `${kernel} `.includes(` ${name}=${value} `))
    );
  if (variant.sharing === "streamed") {
    const { rows: ROWS, columns: COLUMNS, terms: TERMS } = variant.tile;
    const found = code({ ROWS, COLUMNS, TERMS });
    return found ? streamedShare(shape, variant.tile, found, limits) : null;
  }
  if (variant.sharing !== "tiled") throw new Error(`${variant.name} is no kernel of a GPU's`);
  const { rm: RM, rn: RN, lx: LX, ly: LY } = variant.tile;
  const loop = code({ RM, RN, LX, LY })?.loop;
  return loop ? productShare(shape, variant.tile, loop, limits) : null;
}
