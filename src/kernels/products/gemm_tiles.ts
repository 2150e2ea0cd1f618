import type { TuningLimits } from "../../gpu/tuning.ts";

/**
 * A tile of C in workgroup memory: `ly` times `rm` rows by `lx` times `rn` columns. Each of `lx` by `ly` lanes makes
 * `rm` by `rn` elements; slabs of the factors are `tk` terms deep.
 */
export interface GemmTile {
  readonly rm: number;
  readonly rn: number;
  readonly lx: number;
  readonly ly: number;
  readonly tk: number;
}

const tile = (rm: number, rn: number, lx: number, ly: number, tk: number): GemmTile => ({
  rm,
  rn,
  lx,
  ly,
  tk,
});

/** Tiles of few rows, for decoding. Powers of two all, as the kernel needs. */
const shortTiles = [tile(1, 4, 8, 4, 32), tile(1, 4, 8, 8, 32), tile(2, 4, 8, 8, 32)];

/** Tiles for any product, among them one for the narrow outputs of adapters. */
const tallTiles = [
  tile(4, 4, 4, 16, 32),
  tile(4, 4, 8, 8, 16),
  tile(8, 4, 8, 8, 16),
  tile(8, 4, 16, 8, 16),
  tile(8, 8, 8, 8, 16),
  tile(8, 8, 16, 8, 16),
  tile(8, 8, 16, 16, 16),
];

/** The tiles whose workgroups the device can hold. A lane reads whole vectors of rows of A in tn: four rows. */
export function runnableTiles(
  { workgroupBytes, workgroupLanes }: TuningLimits,
  isTransposed: boolean,
): GemmTile[] {
  return [...(isTransposed ? [] : shortTiles), ...tallTiles].filter((one) =>
    one.lx * one.ly <= workgroupLanes && bytesOfTile(one) <= workgroupBytes
  );
}

/** Bytes of workgroup memory; in the layout that pads most. */
function bytesOfTile({ rm, rn, lx, ly, tk }: GemmTile): number {
  return 16 * (tk / 4) * (ly * rm + 7 + 4 + lx * rn + 4 + 7);
}

/**
 * Cores of a GPU, each with so many lanes at work in a cycle, and the cycles in which it reads a vector of workgroup
 * memory for them, in cycles of an fma. WebGPU tells none of them; these lie between a laptop's GPU and a server's.
 */
const [cores, lanesOfCore, readCycles, copyCycles] = [64, 128, 4, 12];

/**
 * The tiles in the order of the time that a product takes by this count: of the terms of a slab, a lane's fma, its
 * reads of workgroup memory and its share of the copies into it, as often as the workgroups do not fit the device's
 * cores side by side. A grid that leaves cores idle, and what hangs over the edges, count as if they were full.
 */
export function rankedTiles(
  tiles: readonly GemmTile[],
  { rows, columns }: { readonly rows: number; readonly columns: number },
): GemmTile[] {
  const cost = ({ rm, rn, lx, ly }: GemmTile) => {
    const groups = Math.ceil(rows / (ly * rm)) * Math.ceil(columns / (lx * rn));
    const lanes = lx * ly;
    const term = rm * rn + (rm + rn) * readCycles / 4 +
      (ly * rm + lx * rn) * copyCycles / 4 / lanes;
    return term * Math.max(1, Math.ceil(groups / cores) * lanes / lanesOfCore);
  };
  return tiles.map((one) => ({ one, cost: cost(one) })).sort((a, b) => a.cost - b.cost)
    .map(({ one }) => one);
}
