import type { LaneKind, TuningLimits } from "../../gpu/tuning.ts";
import { attentionBlock, pageTokens } from "./attention_shape.ts";

/** The defines of parts/attention_tile.wgsl and of the kernels made of it. */
export type AttentionTile = Readonly<{
  D: number;
  BLOCK: number;
  PAGE: number;
  UNROLL: boolean;
  LANES: number;
  /** Rows that a workgroup owns. */
  ROWS: number;
  /** Rows that it walks at a time. */
  WALK: number;
  /** Vectors of a row in a stage of the scores. */
  SLAB: number;
  /** Lanes for the scores: LX take four walked rows each, LY every LY-th of the owned rows, SI of them. */
  LX: number;
  LY: number;
  SI: number;
  /** Lanes for the columns: DX take every DX-th vector of the head, V of them; PY every PY-th owned row, PI of them. */
  DX: number;
  V: number;
  PY: number;
  PI: number;
  /** The memory through which rows come: so many vectors of 16 bytes, so many times. */
  WIDTH: number;
  STAGE: number;
  /** Vectors that a lane stages. */
  OWNED_STEPS: number;
  WALKED_STEPS: number;
  COLUMN_STEPS: number;
}>;

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b);
}

/** Properties of a device that a tile depends on. */
interface TileTuning {
  readonly lanes: LaneKind;
  readonly limits: Pick<TuningLimits, "workgroupBytes">;
}

/** Tiles by rows and head size. */
type TilesOfDevice = Record<32 | 64, Map<number, AttentionTile>>;

const tilesOfDevices = new WeakMap<TileTuning, TilesOfDevice>();

/**
 * A tile of at most `rows` owned rows; asked with every launch, made once. Lanes grow with the head, so that what a lane
 * sums up stays in its registers; a device with little workgroup memory gets a smaller tile, which changes no bit.
 *
 * @param headDim D, a multiple of 4
 */
export function attentionTile(tuning: TileTuning, headDim: number, rows: 32 | 64): AttentionTile {
  let tiles = tilesOfDevices.get(tuning);
  if (!tiles) tilesOfDevices.set(tuning, tiles = { 32: new Map(), 64: new Map() });
  let tile = tiles[rows].get(headDim);
  if (!tile) tiles[rows].set(headDim, tile = tileFor(tuning, headDim, rows));
  return tile;
}

function tileFor({ lanes, limits }: TileTuning, headDim: number, rows: 32 | 64): AttentionTile {
  // A CPU's driver would compile loops that are written out for minutes.
  const unroll = lanes === "gpu";
  const wide = tileOf(headDim, { rows, walk: 32, mostLanes: 256, unroll });
  if (bytesOfTile(wide) <= limits.workgroupBytes) return wide;
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
