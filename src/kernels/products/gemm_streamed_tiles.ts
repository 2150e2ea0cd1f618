import type { TuningLimits } from "../../gpu/tuning.ts";

/** What a workgroup of gemm_streamed.wgsl makes: `rows` by `columns` elements of C, by `terms` at a time. */
export interface StreamedTile {
  readonly rows: 1 | 4;
  readonly columns: number;
  readonly terms: number;
  readonly lanes: number;
}

const lanes = 128;

/**
 * Columns of a workgroup, and its terms by the memory that there is: few, so that products with few columns make many
 * workgroups, or as many as a subgroup has lanes.
 */
const shapes = [{ columns: 8, terms: [512, 256] }, { columns: 32, terms: [128, 64] }] as const;

/** Of each number of rows and columns the one with the most terms that the device has room for. */
export function streamedTiles(limits: TuningLimits): StreamedTile[] {
  if (lanes > limits.workgroupLanes) return [];
  return ([1, 4] as const).flatMap((rows) =>
    shapes.flatMap(({ columns, terms }) => {
      const tiles = terms.map((count) => ({ rows, columns, terms: count, lanes }));
      return tiles.filter((tile) => bytesOf(tile) <= limits.workgroupBytes).slice(0, 1);
    })
  );
}

/** Bytes of workgroup memory. */
function bytesOf({ rows, columns, terms }: StreamedTile): number {
  return 16 * 8 * (terms / 32 * rows + 1 + terms / 32 * columns + 1) + 4 * rows * columns;
}
