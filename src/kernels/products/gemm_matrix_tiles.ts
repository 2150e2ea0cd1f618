import { type MatrixFactor, multipliesHalves, type Tuning } from "../../gpu/tuning.ts";
import { slabTerms } from "./half_rows.ts";

/** A tile of C that a workgroup makes on matrix units (gemm_matrix.wgsl). */
export interface MatrixTile {
  /** Shape of the matrices that a subgroup multiplies: [m, k] by [k, n]. */
  readonly m: number;
  readonly n: number;
  readonly k: number;
  /** Subgroups beside one another and below one another. */
  readonly sx: number;
  readonly sy: number;
  /** Matrices of a subgroup below one another and beside one another. */
  readonly rm: number;
  readonly rn: number;
  /** Terms of a slab. */
  readonly tk: number;
  /**
   * Lanes of a subgroup where the device is told how many (isPinned), or of its largest, and vectors that a lane of its
   * smallest writes of a matrix.
   */
  readonly subgroup: number;
  readonly isPinned: boolean;
  readonly writes: number;
  readonly factor: MatrixFactor;
  /** Whether a factor is two f16. */
  readonly isPair: boolean;
}

/** Rows and columns of the tiles: for decoding, for few workgroups, and for many. */
const sizes = [[8, 32], [16, 32], [16, 64], [32, 32], [32, 64], [64, 64], [128, 64], [
  128,
  128,
]] as const;

/** Bytes that keep neighbouring rows of a tile in other banks. */
const padding = 16;

const bytesOfFactor: Record<MatrixFactor, number> = { f16: 2, f32: 4 };

/** Elements from one row or column of a tile to the next. */
export const strideOf = ({ tk, factor }: Pick<MatrixTile, "tk" | "factor">): number =>
  tk + padding / bytesOfFactor[factor];

/** Matrices of a subgroup, and columns of a tile, on a CPU core, where more take minutes to compile. */
const mostOnCpu = { matrices: 4, columns: 32 };

/**
 * The tiles that a device has room for, the smallest first.
 *
 * @throws Error when it has no matrix units, or room for none
 */
export function matrixTiles(tuning: Tuning): MatrixTile[] {
  const { matrix, subgroups, pinnedSubgroup, limits, bits, lanes } = tuning;
  if (!matrix || !subgroups) throw new Error("tiles of matrices without matrix units");
  const { M: m, N: n, K: k } = matrix;
  const subgroup = pinnedSubgroup ?? subgroups.largest;
  const smallest = pinnedSubgroup ?? subgroups.smallest;
  const isPinned = pinnedSubgroup !== null;
  const factor = multipliesHalves(tuning) ? "f16" : "f32";
  const isPair = bits === "mma-pair";
  const tk = slabTerms(tuning);
  const tiles = sizes.map(([rows, columns]): MatrixTile => {
    const sy = rows >= 32 && rows >= 2 * m ? 2 : 1;
    const sx = 4 / sy;
    const rm = Math.max(1, rows / sy / m), rn = Math.max(1, columns / sx / n);
    const writes = Math.ceil(m * n / 4 / smallest);
    return { m, n, k, sx, sy, rm, rn, tk, subgroup, isPinned, writes, factor, isPair };
  });
  const fitting = tiles.filter((tile, i) =>
    !tiles.slice(0, i).some(({ rm, rn, sy }) =>
      tile.rm === rm && tile.rn === rn && tile.sy === sy
    ) &&
    bytesOf(tile) <= limits.workgroupBytes &&
    tile.sx * tile.sy * subgroup <= limits.workgroupLanes &&
    (lanes === "gpu" ||
      tile.rm * tile.rn <= mostOnCpu.matrices && tile.sx * tile.rn * n <= mostOnCpu.columns)
  );
  if (fitting.length === 0) {
    throw new Error(
      `no tile of ${m}x${n}x${k} matrices fits ${limits.workgroupBytes} bytes of workgroup memory`,
    );
  }
  return fitting;
}

/** Cores of a GPU, which WebGPU does not tell: between a laptop's and a server's. */
const cores = 64;

/**
 * The tiles in the order of the time that a product takes by this count: of a slab's terms the matrices of a subgroup,
 * its share of the copies, and what is the same for each, in cycles of RDNA3, as often as there are workgroups for each
 * of a GPU's cores. What hangs over the edges counts as if it were full.
 */
export function rankedMatrixTiles(
  tiles: readonly MatrixTile[],
  rows: number,
  columns: number,
): MatrixTile[] {
  const cost = ({ m, n, sx, sy, rm, rn }: MatrixTile) => {
    const [height, width] = [sy * rm * m, sx * rn * n];
    const groups = Math.ceil(rows / height) * Math.ceil(columns / width);
    return (height * width / 16 + 1.5 * (height + width) + 100) * Math.ceil(groups / cores);
  };
  return tiles.map((tile) => ({ tile, cost: cost(tile) })).sort((a, b) => a.cost - b.cost)
    .map(({ tile }) => tile);
}

/** Bytes of workgroup memory. */
function bytesOf(tile: MatrixTile): number {
  const { m, n, sx, sy, rm, rn, factor, isPair } = tile;
  const rows = sy * rm * m, columns = sx * rn * n;
  const factors = bytesOfFactor[factor] * (rows + columns) * strideOf(tile) * (isPair ? 2 : 1);
  const scanned = factor === "f16" ? 2 * rows : 0;
  return factors + 4 * (sx * sy * m * n + scanned);
}
