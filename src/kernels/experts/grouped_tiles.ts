import type { Tuning } from "../../gpu/tuning.ts";

/**
 * How the lanes that make a tile of C come by the values they share. `uniform`: each loads for itself; `tiled`: through
 * workgroup memory.
 */
export type GroupedTile = UniformTile | TiledTile;

interface UniformTile {
  readonly sharing: "uniform";
  /** A multiple of 4 where it is a gradient's. */
  readonly rows: number;
  /** Each with four columns. */
  readonly lanes: number;
  /** Sums may lie in memory, as a CPU's lanes have them. */
  readonly isLooped: boolean;
}

/** `ly` rows and `lx` columns of lanes, each with `rm` rows and `rn` columns; slabs of `tk` terms. */
interface TiledTile {
  readonly sharing: "tiled";
  readonly rm: number;
  readonly rn: number;
  readonly lx: number;
  readonly ly: number;
  readonly tk: number;
}

/** Rows of C that a tile has. */
export const rowsOfTile = (tile: GroupedTile) =>
  tile.sharing === "uniform" ? tile.rows : tile.ly * tile.rm;

/** Columns of C, or of gate and up, that a tile has. */
export const columnsOfTile = (tile: GroupedTile) =>
  tile.sharing === "uniform" ? 4 * tile.lanes : tile.lx * tile.rn;

/** Tiles through workgroup memory, the smaller first. */
const tiledTiles: readonly TiledTile[] = [
  { sharing: "tiled", rm: 4, rn: 4, lx: 16, ly: 4, tk: 16 },
  { sharing: "tiled", rm: 8, rn: 8, lx: 8, ly: 8, tk: 16 },
];

/** Rows that a tile without workgroup memory may have. */
const uniformRows = [1, 4, 8, 16] as const;

/** Cost of loading the columns of B in a tile, in rows of A and their products: see gemm_variants.ts. */
const rowsOfLoads = 5;

/** The uniform tile for so many rows of each expert that costs least. */
function uniformFor({ lanes }: Tuning, rows: number, columns: number): UniformTile {
  const cost = (tile: number) => Math.ceil(rows / tile) * (tile + rowsOfLoads);
  return {
    sharing: "uniform",
    rows: uniformRows.toSorted((a, b) => cost(a) - cost(b))[0],
    lanes: lanes === "gpu" ? 32 : columns > 32 ? 16 : 8,
    isLooped: lanes === "cpu",
  };
}

/** The most rows of each expert for which a GPU's lanes load for themselves. */
const fewRows = 4;

/**
 * The tile of a product that suits a device.
 *
 * @param rows of each expert, a mean of those that have any
 */
export function productTile(tuning: Tuning, rows: number, columns: number): GroupedTile {
  if (tuning.lanes === "cpu" || rows <= fewRows) return uniformFor(tuning, rows, columns);
  const [small, large] = tiledTiles;
  return rows > 2 * rowsOfTile(small) ? large : small;
}

/** The tile of a gradient that suits a device. */
export function gradientTile(tuning: Tuning, rows: number, columns: number): GroupedTile {
  if (tuning.lanes === "gpu") return tiledTiles[1];
  return { ...uniformFor(tuning, rows, columns), rows: rows <= 8 ? 8 : 16 };
}
