import { type AttentionTile, attentionTile } from "../../src/kernels/attention/attention_tile.ts";
import type { Tuning } from "../../src/gpu/tuning.ts";
import type { GpuLimits } from "./gpu_limits.ts";
import type { NestedLoop } from "./inner_loop.ts";
import type { KernelCode } from "./kernel_code.ts";
import { bytesOfCycle, type KernelWork, readingCycles, readingLanes, share } from "./shares.ts";

/** A kernel of attention on tiles, by what a pair of rows takes. */
export interface TiledAttention {
  readonly what: string;
  /** How the kernel's name begins. */
  readonly label: string;
  /** Rows that a workgroup owns at most. */
  readonly rows: 32 | 64;
  readonly owned: "queries" | "keys";
  /** Scores of a pair: products of two rows. */
  readonly scores: number;
  /** Sums that a pair adds a row to. */
  readonly sums: number;
  /** Whether each block of the walk has a softmax. */
  readonly softmax: boolean;
}

export const tiledAttention: readonly TiledAttention[] = [
  {
    ...{ what: "attention, forward", label: "attention D=", rows: 64, owned: "queries" },
    ...{ scores: 1, sums: 1, softmax: true },
  },
  {
    ...{ what: "queries' gradient", label: "attention backward queries", rows: 64 },
    ...{ owned: "queries", scores: 2, sums: 1, softmax: false },
  },
  {
    ...{ what: "keys' and values' gradients", label: "attention backward keys", rows: 32 },
    ...{ owned: "keys", scores: 2, sums: 2, softmax: false },
  },
];

/** Sequences of one length. */
export interface AttentionWork {
  readonly sequences: number;
  readonly length: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
}

/** A kernel of attention with the tile that a device gives it; null when no model launches it. */
export function tiledKernel(
  kernels: readonly KernelCode[],
  tuning: Tuning,
  { label, rows }: TiledAttention,
  headDim: number,
): { readonly code: KernelCode; readonly tile: AttentionTile } | null {
  const code = kernels.find(({ kernel }) =>
    kernel.startsWith(label) && kernel.includes(`D=${headDim} `)
  );
  return code ? { code, tile: attentionTile(tuning, headDim, rows) } : null;
}

/**
 * Instructions of a lane that bring a workgroup from one tile of walked rows to the next: those of the loop over the
 * tiles, and of the loops within it as often as they run. These are one for each of the scores, which takes SLAB
 * vectors of the head at a time, and then loops over blocks of 16 walked rows: the softmax, and each vector of each sum.
 *
 * @throws Error when the compiler made other loops of it
 */
export function walkInstructions(
  loops: readonly NestedLoop[],
  { scores, sums, softmax }: TiledAttention,
  { D, SLAB, V, WALK, BLOCK }: AttentionTile,
): number {
  const depth = Math.max(...loops.map((loop) => loop.depth));
  const [first, ...inner] = loops.slice(
    loops.findLastIndex((loop) => loop.depth === depth - 1),
  );
  const expected = scores + (softmax ? 1 : 0) + sums * V;
  if (inner.length !== expected) {
    throw new Error(`attention walks in ${inner.length} loops, not in ${expected}`);
  }
  return inner.reduce(
    (sum, { instructions }, n) => sum + instructions * (n < scores ? D / 4 / SLAB : WALK / BLOCK),
    first.instructions,
  );
}

/**
 * The share of a GPU's limit that a kernel of attention reaches at most on sequences whose tiles are whole. The limit
 * counts each query with the keys up to its own; the kernel walks whole tiles. Workgroups of different lengths share
 * the cores evenly.
 */
export function attentionShare(
  work: AttentionWork,
  kernel: TiledAttention,
  { loops }: Pick<KernelCode, "loops">,
  tile: AttentionTile,
  limits: GpuLimits,
): number {
  const { sequences, length, heads, kvHeads, headDim } = work;
  const { ROWS, WALK, LANES, LY, SI, DX, V, PI, D } = tile;
  const { lanes, cores, clock } = limits;
  const ownsQueries = kernel.owned === "queries";
  const walksOf = (tileOfRows: number) =>
    ownsQueries
      ? Math.ceil((tileOfRows + 1) * ROWS / WALK)
      : Math.ceil((length - tileOfRows * ROWS) / WALK) * heads / kvHeads;
  const tiles = Array.from({ length: Math.ceil(length / ROWS) }, (_, t) => walksOf(t));
  const walks = tiles.reduce((a, b) => a + b) * sequences * (ownsQueries ? heads : kvHeads);
  const issue = walkInstructions(loops, kernel, tile) * LANES / lanes;
  const own = readingCycles(Math.min(LY, readingLanes)), other = readingCycles(readingLanes / LY);
  const scores = D / 4 * (SI * own + 4 * other);
  const columns = V * WALK / 4 *
    (PI * readingCycles(readingLanes / DX) + 4 * readingCycles(Math.min(DX, readingLanes)));
  const staged = kernel.scores * (ROWS + WALK) * D * 4 + kernel.sums * WALK * D * 4;
  const shared =
    (kernel.scores * scores + kernel.sums * columns) * Math.ceil(LANES / readingLanes) +
    staged / bytesOfCycle;
  const cycles = Math.max(issue, shared);
  const tokens = sequences * length;
  // Queries, outputs and their gradients have all heads, keys and values few.
  const wide = ownsQueries ? 2 * kernel.scores : 2, narrow = ownsQueries ? 2 : 4;
  const needed: KernelWork = {
    multiplyAdds: (kernel.scores + kernel.sums) * headDim * heads * sequences * length *
      (length + 1) / 2,
    bytes: 4 * tokens * headDim * (wide * heads + narrow * kvHeads),
  };
  const inCores = Math.max(walks * cycles / cores, Math.max(...tiles) * cycles) / clock;
  return share(needed, { inCores, bytes: needed.bytes }, limits);
}
