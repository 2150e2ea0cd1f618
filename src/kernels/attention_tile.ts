import type { TuningLimits } from "../gpu/tuning.ts";
import { attentionBlock, pageTokens } from "./attention_shape.ts";

/** The defines of parts/attention_tile.wgsl and of the kernels made of it. */
export interface AttentionTile {
  readonly D: number;
  readonly BLOCK: number;
  readonly PAGE: number;
  readonly UNROLL: boolean;
  readonly LANES: number;
  /** Rows that a workgroup owns. */
  readonly ROWS: number;
  /** Rows that it walks at a time. */
  readonly WALK: number;
  /** Vectors of a row in a stage of the scores. */
  readonly SLAB: number;
  /** Lanes for the scores: LX take four walked rows each, LY every LY-th of the owned rows, SI of them. */
  readonly LX: number;
  readonly LY: number;
  readonly SI: number;
  /** Lanes for the columns: DX take every DX-th vector of the head, V of them; PY every PY-th owned row, PI of them. */
  readonly DX: number;
  readonly V: number;
  readonly PY: number;
  readonly PI: number;
  /** The memory through which rows come: so many vectors of 16 bytes, so many times. */
  readonly WIDTH: number;
  readonly STAGE: number;
  /** Vectors that a lane stages. */
  readonly OWNED_STEPS: number;
  readonly WALKED_STEPS: number;
  readonly COLUMN_STEPS: number;
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b);
}

/**
 * A tile of at most `rows` owned rows. Lanes grow with the head, so that what a lane sums up stays in its registers; a
 * device with little workgroup memory gets a smaller tile, which changes no bit.
 *
 * @param headDim D, a multiple of 4
 * @param unroll whether the inner loops are written out, which a CPU's driver would compile for minutes
 */
export function attentionTile(
  headDim: number,
  rows: 32 | 64,
  unroll: boolean,
  { workgroupBytes }: Pick<TuningLimits, "workgroupBytes">,
): AttentionTile {
  const wide = tileOf(headDim, { rows, walk: 32, mostLanes: 256, unroll });
  if (bytesOfTile(wide) <= workgroupBytes) return wide;
  return tileOf(headDim, { rows: 32, walk: 16, mostLanes: 128, unroll });
}

/** Bytes of workgroup memory that a kernel of a tile needs. */
export function bytesOfTile({ ROWS, WALK, WIDTH, STAGE }: AttentionTile): number {
  // A score and half a (keep, add) of each pair of rows, and what is kept of each row.
  return 16 * WIDTH * STAGE + 4.5 * ROWS * WALK + 12 * WALK + 16 * ROWS;
}

interface TileSize {
  readonly rows: number;
  readonly walk: number;
  readonly mostLanes: number;
  readonly unroll: boolean;
}

function tileOf(headDim: number, { rows, walk, mostLanes, unroll }: TileSize): AttentionTile {
  const chunks = headDim / 4;
  const SLAB = greatestDivisor(chunks, 4);
  let LANES = Math.min(headDim >= 256 ? 256 : headDim >= 128 ? 128 : 64, mostLanes);
  while (LANES / greatestDivisor(chunks, LANES / 8) > rows) LANES /= 2;
  const DX = greatestDivisor(chunks, LANES / 8);
  const PY = LANES / DX;
  const LX = walk / 4;
  const LY = LANES / LX;
  const SI = rows / LY;
  return {
    D: headDim,
    BLOCK: attentionBlock,
    PAGE: pageTokens,
    UNROLL: unroll,
    LANES,
    ROWS: rows,
    WALK: walk,
    SLAB,
    LX,
    LY,
    SI,
    DX,
    V: chunks / DX,
    PY,
    PI: rows / PY,
    WIDTH: Math.max(LX, LY, DX),
    STAGE: Math.max((SI + 4) * SLAB, walk),
    OWNED_STEPS: Math.ceil(rows * SLAB / LANES),
    WALKED_STEPS: Math.ceil(walk * SLAB / LANES),
    COLUMN_STEPS: Math.ceil(walk * DX / LANES),
  };
}
