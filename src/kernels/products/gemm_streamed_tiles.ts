import type { TuningLimits } from "../../gpu/tuning.ts";

/** What a workgroup of gemm_streamed.wgsl makes: `rows` by `columns` elements of C, by `terms` at a time. */
export interface StreamedTile {
  readonly rows: 1 | 4;
  readonly columns: number;
  readonly terms: number;
  readonly lanes: number;
}

/** The most rows that they are for. */
export const streamedRows = 4;

const [columns, lanes] = [8, 128];

/** Those that the device has room for, with the most bytes on their way first. */
export function streamedTiles(limits: TuningLimits): StreamedTile[] {
  const tiles = ([1, 4] as const).flatMap((rows) =>
    [512, 256].map((terms) => ({ rows, columns, terms, lanes }))
  );
  return tiles.filter((tile) =>
    tile.lanes <= limits.workgroupLanes && bytesOf(tile) <= limits.workgroupBytes
  );
}

/** Bytes of workgroup memory. */
function bytesOf({ rows, columns, terms }: StreamedTile): number {
  return 16 * (terms / 4) * (rows + 1 + columns + 1) + 4 * rows * columns;
}
