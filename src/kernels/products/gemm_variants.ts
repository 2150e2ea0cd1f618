import { type MatrixType, matrixTypes } from "../../gpu/tensor.ts";
import type { Tuning } from "../../gpu/tuning.ts";
import type { VariedOperation } from "../../gpu/variants.ts";
import { type MatrixTile, matrixTiles, rankedMatrixTiles } from "./gemm_matrix_tiles.ts";
import { type StreamedTile, streamedTiles } from "./gemm_streamed_tiles.ts";
import { type GemmTile, rankedTiles, runnableTiles } from "./gemm_tiles.ts";

/** nt: C = A·Bᵀ; nn: C = A·B; tn: C = Aᵀ·B. */
export type GemmLayout = "nt" | "nn" | "tn";

/** In the order of the kernels' LAYOUT. */
export const gemmLayouts: readonly GemmLayout[] = ["nt", "nn", "tn"];

/** A product C [rows, columns] of sums of `depth` terms; B is stored as `storage`. */
export interface GemmShape {
  readonly layout: GemmLayout;
  readonly storage: MatrixType;
  readonly rows: number;
  readonly columns: number;
  readonly depth: number;
}

/**
 * How the lanes that make a tile of C come by the values they share, and the tile. `uniform`, for lanes of a CPU core:
 * all lanes load the same; up to four rows (nt) have their sums in registers. `tiled`: through workgroup memory.
 * `streamed`: so too, for up to four rows (nt), with long pieces of B asked for ahead. Each element is one ascending
 * chain of fma in these. `matrix`: matrix units, for the other classes of bits.
 */
export type GemmVariant = UniformVariant | TiledVariant | StreamedVariant | MatrixVariant;

interface UniformVariant {
  readonly name: string;
  readonly sharing: "uniform";
  readonly lanes: 8 | 16;
  readonly rows: 1 | 4 | 8 | 16 | 24 | 32;
}

interface TiledVariant {
  readonly name: string;
  readonly sharing: "tiled";
  readonly tile: GemmTile;
  /** Whether the next slab is on its way while one is multiplied. */
  readonly isAhead: boolean;
}

interface StreamedVariant {
  readonly name: string;
  readonly sharing: "streamed";
  readonly tile: StreamedTile;
}

interface MatrixVariant {
  readonly name: string;
  readonly sharing: "matrix";
  readonly tile: MatrixTile;
}

const uniform = (
  rows: UniformVariant["rows"],
  lanes: UniformVariant["lanes"],
): UniformVariant => ({
  name: `uniform, ${rows}x${4 * lanes}`,
  sharing: "uniform",
  lanes,
  rows,
});

type SomeVariants = readonly [GemmVariant, ...GemmVariant[]];

function ofEachType<T>(make: (type: MatrixType) => T): Readonly<Record<MatrixType, T>> {
  const [f32, f16, bf16, q4, q4k, q8] = matrixTypes.map(make);
  return { f32, f16, bf16, q4, q4k, q8 };
}

/** Tiles by their columns, then by their rows. */
const [narrow, wide] = ([8, 16] as const).map((lanes) =>
  ([8, 16, 24, 32] as const).map((rows) => uniform(rows, lanes))
);

/** Cost of loading the columns of B in a tile, in rows of A and their products. */
const rowsOfLoads: Readonly<Record<MatrixType, number>> = {
  f32: 5,
  f16: 4,
  bf16: 4,
  q4: 8,
  q4k: 8,
  q8: 8,
};

type ByShape = Map<number, SomeVariants>;
const uniformByShape = ofEachType((): ByShape => new Map());

/** The tiles of a CPU core, that with the fewest wasted rows and repeated loads first; asked with every launch. */
function uniformFor({ storage, rows, columns }: GemmShape): SomeVariants {
  const byShape = uniformByShape[storage];
  const key = 2 * rows + Number(columns > 32);
  let found = byShape.get(key);
  if (!found) byShape.set(key, found = rankedUniform(storage, rows, columns));
  return found;
}

function rankedUniform(storage: MatrixType, rows: number, columns: number): SomeVariants {
  const cost = (tile: number) => Math.ceil(rows / tile) * (tile + rowsOfLoads[storage]);
  const [first, ...others] = (columns > 32 ? wide : narrow).toSorted((a, b) =>
    cost(a.rows) - cost(b.rows)
  );
  const other = (columns > 32 ? narrow : wide).find((tile) => tile.rows === first.rows);
  return [first, ...(other ? [other] : []), ...others.slice(0, 1)];
}

/** The tiles of a device and a layout as variants, and their order for the shapes that were met. */
interface TiledVariants {
  readonly all: readonly TiledVariant[];
  /** Variants in order, by rows and columns. */
  readonly ranked: Map<number, Map<number, SomeVariants>>;
}

const tiledVariants = new WeakMap<Tuning, Map<boolean, TiledVariants>>();

function tiledVariantsOf(tuning: Tuning, isTransposed: boolean): TiledVariants {
  let ofDevice = tiledVariants.get(tuning);
  if (!ofDevice) tiledVariants.set(tuning, ofDevice = new Map());
  let variants = ofDevice.get(isTransposed);
  if (!variants) {
    const all = runnableTiles(tuning.limits, isTransposed).flatMap((tile): TiledVariant[] => {
      const name = `tiled, ${tile.rm}x${tile.rn} a lane, ${tile.ly}x${tile.lx} lanes`;
      const one = { name, sharing: "tiled", tile, isAhead: false } as const;
      const ahead = { ...one, name: `${name}, a slab ahead`, isAhead: true };
      return hasAhead(tile) ? [one, ahead] : [one];
    });
    ofDevice.set(isTransposed, variants = { all, ranked: new Map() });
  }
  return variants;
}

/** Tiles of which there is a variant that loads a slab ahead: those that make products of many rows, with most to wait for. */
const hasAhead = ({ rm, rn }: GemmTile) => rm * rn >= 64;

/** How many tiles are worth measuring for a shape. */
const triedTiles = 4;

/** The tiles that suit a shape best, the likeliest first; a list for each is made once. */
function tiledFor(tuning: Tuning, { layout, rows, columns }: GemmShape): SomeVariants {
  const { all, ranked } = tiledVariantsOf(tuning, layout === "tn");
  let ofRows = ranked.get(rows);
  if (!ofRows) ranked.set(rows, ofRows = new Map());
  let found = ofRows.get(columns);
  if (!found) {
    const plain = all.filter(({ isAhead }) => !isAhead);
    const tiles = rankedTiles(plain.map(({ tile }) => tile), { rows, columns });
    const ofTile = (tile: GemmTile) => plain.find((one) => one.tile === tile)!;
    const [first, ...others] = tiles.slice(0, triedTiles).map(ofTile);
    // Nothing says beforehand whether waits or registers cost a device more.
    const ahead = all.filter(({ tile, isAhead }) => isAhead && tile === first.tile);
    ofRows.set(columns, found = [first, ...ahead, ...others]);
  }
  return found;
}

const streamedVariants = new WeakMap<Tuning, readonly StreamedVariant[]>();

/** The variants for up to four rows; a list for each device is made once. */
function streamedVariantsOf(tuning: Tuning): readonly StreamedVariant[] {
  let variants = streamedVariants.get(tuning);
  if (!variants) {
    variants = streamedTiles(tuning.limits).map((tile) => ({
      name: `streamed, ${tile.rows}x${tile.columns}, ${tile.terms} terms`,
      sharing: "streamed",
      tile,
    }));
    streamedVariants.set(tuning, variants);
  }
  return variants;
}

/** How many tiles are worth measuring beside them. */
const triedBeside = 2;

/** Workgroups that keep a GPU busy: two for each of 64 cores. */
const busyGroups = 128;

const fewRows = new WeakMap<Tuning, Map<number, SomeVariants>>();

/** For up to four rows (nt), which wait for B; a list for each shape is made once. */
function fewRowsFor(tuning: Tuning, shape: GemmShape): SomeVariants {
  let ofDevice = fewRows.get(tuning);
  if (!ofDevice) fewRows.set(tuning, ofDevice = new Map());
  const key = shape.columns * 8 + shape.rows;
  let found = ofDevice.get(key);
  if (!found) {
    const rows = shape.rows === 1 ? 1 : 4;
    // The most columns that leave enough workgroups.
    const cost = ({ tile: { columns } }: StreamedVariant) =>
      shape.columns >= columns * busyGroups ? -columns : columns;
    const streamed = streamedVariantsOf(tuning).filter(({ tile }) => tile.rows === rows)
      .toSorted((a, b) => cost(a) - cost(b));
    const [first, ...others] = [...streamed, ...tiledFor(tuning, shape).slice(0, triedBeside)];
    ofDevice.set(key, found = [first, ...others]);
  }
  return found;
}

const matrixVariants = new WeakMap<Tuning, readonly MatrixVariant[]>();

/** The tiles on matrix units that a device has room for, the smallest first; a list for each is made once. */
function matrixVariantsOf(tuning: Tuning): readonly MatrixVariant[] {
  let variants = matrixVariants.get(tuning);
  if (!variants) {
    variants = matrixTiles(tuning).map((tile) => ({
      name: `matrix, ${tile.sy * tile.rm * tile.m}x${tile.sx * tile.rn * tile.n}`,
      sharing: "matrix",
      tile,
    }));
    matrixVariants.set(tuning, variants);
  }
  return variants;
}

const matrixByShape = new WeakMap<Tuning, Map<number, SomeVariants>>();

/** Tiles for a shape, in the order of the time by `rankedMatrixTiles`. */
function matrixFor(
  tuning: Tuning,
  { rows, columns }: Pick<GemmShape, "rows" | "columns">,
): SomeVariants {
  let ofDevice = matrixByShape.get(tuning);
  if (!ofDevice) matrixByShape.set(tuning, ofDevice = new Map());
  const key = rows * 2 ** 24 + columns;
  let found = ofDevice.get(key);
  if (!found) {
    const variants = matrixVariantsOf(tuning);
    const [first, ...others] = rankedMatrixTiles(variants.map(({ tile }) => tile), rows, columns)
      .map((tile) => variants.find((one) => one.tile === tile) ?? variants[0]);
    ofDevice.set(key, found = [first, ...others]);
  }
  return found;
}

/** For sums over the tokens of runs, on matrix units: in the same order, and no tile is measured. */
export const runsVariants = (tuning: Tuning, rows: number, columns: number): SomeVariants =>
  matrixFor(tuning, { rows, columns });

/** All variants of a layout that a device can run, whether or not they are any good there. */
export function runnableGemmVariants(tuning: Tuning, layout: GemmLayout): readonly GemmVariant[] {
  if (onMatrixUnits(tuning, layout)) return matrixVariantsOf(tuning);
  const { all } = tiledVariantsOf(tuning, layout === "tn");
  const forFew = layout === "nt" ? [uniform1, uniform4, ...streamedVariantsOf(tuning)] : [];
  return [...forFew, ...narrow, ...wide, ...all];
}

/** Sums over tokens stay chains where nothing says how the tokens belong together: no batch's cut may show in them. */
const onMatrixUnits = ({ matrix }: Tuning, layout: GemmLayout) =>
  matrix !== null && layout !== "tn";

/**
 * The most rows for which reading B, not arithmetic, takes the time: a CPU core has their sums in registers, a GPU asks
 * for B ahead. A class of its own for measuring.
 */
export const rowsInRegisters = 4;

const rowClasses = ["one row", "up to four rows", "few rows", "some rows", "many rows"];
const columnClasses = ["narrow", "middling", "wide"];
const depthClasses = ["short sums", "middling sums", "long sums"];

/** 0, 1 or 2. */
const rank = (size: number, first: number, second: number) =>
  size <= first ? 0 : size <= second ? 1 : 2;

/** Names of classes, made once: one is asked for with every launch. */
const classNames = gemmLayouts.map((layout) => {
  return ofEachType((storage) =>
    rowClasses.map((rows) =>
      columnClasses.map((columns) =>
        depthClasses.map((depth) => `${layout} ${storage}, ${rows}, ${columns}, ${depth}`)
      )
    )
  );
});

/** Made once: one is asked for with every launch. */
const [uniform1, uniform4] = [uniform(1, 8), uniform(4, 8)];
const forOneRow: SomeVariants = [uniform1];
const forFewRows: SomeVariants = [uniform4, uniform1];

/** Which variant of the product's kernels runs. */
export const gemmOperation: VariedOperation<GemmShape, GemmVariant> = {
  name: "gemm",
  classOf({ layout, storage, rows, columns, depth }) {
    const byStorage = classNames[gemmLayouts.indexOf(layout)][storage];
    const byRows = byStorage[rows <= rowsInRegisters ? Number(rows > 1) : 2 + rank(rows, 16, 256)];
    return byRows[rank(columns, 64, 1024)][rank(depth, 256, 2048)];
  },
  variantsFor(tuning, shape) {
    const { layout, rows } = shape;
    if (onMatrixUnits(tuning, layout)) return matrixFor(tuning, shape);
    if (tuning.lanes !== "cpu") {
      return layout === "nt" && rows <= rowsInRegisters
        ? fewRowsFor(tuning, shape)
        : tiledFor(tuning, shape);
    }
    if (layout !== "nt" || rows > rowsInRegisters) return uniformFor(shape);
    return rows === 1 ? forOneRow : forFewRows;
  },
  flops: ({ rows, columns, depth }) => 2 * rows * columns * depth,
};
