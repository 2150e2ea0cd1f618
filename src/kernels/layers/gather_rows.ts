import type { Gpu } from "../../gpu/gpu.ts";
import type { Grid } from "../../gpu/grid.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { independentLanes } from "../../gpu/tuning.ts";
import { expectShape, expectVectors } from "../parts/expect_shape.ts";
import gatherCode from "./gather_rows.wgsl" with { type: "text" };
import { compose } from "../parts/compose.ts";

const code = compose(gatherCode);

/** A workgroup makes 8 rows of `lanes` vectors. */
function rowGrid(lanes: number, rows: number, vectors: number): Grid {
  const groups = Math.ceil(rows / 8);
  const y = Math.min(groups, 65535);
  return [Math.ceil(vectors / lanes), y, Math.ceil(groups / Math.max(1, y))];
}

/** How `gatherRows` goes through a source that is a tile of a larger one. */
export interface GatherOptions {
  /** The number of the source's first row; 0 by default. */
  readonly firstRow?: number;
  /** A row number outside the source leaves the target's row as it is, instead of zeros. */
  readonly keep?: boolean;
}

/**
 * target[i] = source[rows[i] - firstRow]; a row number outside the source gives a row of zeros.
 *
 * @param source [T, D] in f32, f16, bf16 or quantised blocks, D a multiple of 4
 * @param rows u32 [R]
 * @param target f32 [R, D], not in the source's buffer
 * @throws Error when the shapes do not fit
 */
export function gatherRows(
  gpu: Gpu,
  source: Tensor,
  rows: Tensor,
  target: Tensor,
  { firstRow = 0, keep = false }: GatherOptions = {},
): void {
  const [limit, width] = source.shape;
  const rowCount = rows.shape[0];
  expectShape("gatherRows", "source", source, [-1, -1], source.dtype);
  expectShape("gatherRows", "rows", rows, [rowCount], "u32");
  expectShape("gatherRows", "target", target, [rowCount, width]);
  expectVectors("gatherRows", "a row", width);
  const WORKGROUP = independentLanes(gpu.tuning);
  gpu.dispatch(
    {
      label: "gather rows",
      code,
      defines: { SCATTER: false, KEEP: keep, STORAGE: source.dtype, WORKGROUP },
    },
    { rowCount, limit, firstRow, vectors: width / 4 },
    { source, rows, target_rows: target },
    rowGrid(WORKGROUP, rowCount, width / 4),
    { bytes: 2 * target.bytes },
  );
}

/**
 * target[rows[i]] = source[i]: the backward pass of `gatherRows` for rows that are all different.
 * Other rows of the target keep what they hold; a row number at or beyond T is left out.
 *
 * @param source [R, D], D a multiple of 4
 * @param rows u32 [R], without repetition
 * @param target [T, D], not in the source's buffer
 * @throws Error when the shapes do not fit
 */
export function scatterRows(gpu: Gpu, source: Tensor, rows: Tensor, target: Tensor): void {
  const [limit, width] = target.shape;
  const rowCount = rows.shape[0];
  expectShape("scatterRows", "rows", rows, [rowCount], "u32");
  expectShape("scatterRows", "source", source, [rowCount, width]);
  expectShape("scatterRows", "target", target, [-1, -1]);
  expectVectors("scatterRows", "a row", width);
  const WORKGROUP = independentLanes(gpu.tuning);
  gpu.dispatch(
    {
      label: "scatter rows",
      code,
      defines: { SCATTER: true, KEEP: false, STORAGE: "f32", WORKGROUP },
    },
    { rowCount, limit, firstRow: 0, vectors: width / 4 },
    { source, rows, target_rows: target },
    rowGrid(WORKGROUP, rowCount, width / 4),
    { bytes: 2 * source.bytes },
  );
}
