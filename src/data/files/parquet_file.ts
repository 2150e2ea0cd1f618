import {
  type AsyncBuffer,
  parquetMetadataAsync,
  parquetReadObjects,
  parquetSchema,
} from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { UserError } from "../../base/user_error.ts";
import type { DataFile } from "./data_paths.ts";
import type { PlacedRow, Row } from "./row.ts";

/**
 * Rows of a Parquet file, one row group in memory at a time. Of `columns` those that the file has are read;
 * all when it is not given. Whole numbers of 64 bits become numbers where these are exact and text where
 * not; dates become ISO 8601 text. Throws a UserError with the reason when the file cannot be read.
 */
export async function* readParquetFile(
  file: DataFile,
  columns?: readonly string[],
): AsyncGenerator<PlacedRow> {
  const handle = await Deno.open(file.path);
  try {
    const buffer = rangesOf(handle);
    const metadata = await orUserError(file, () => parquetMetadataAsync(buffer));
    const present = parquetSchema(metadata).children.map(({ element }) => element.name);
    const wanted = columns && present.filter((name) => columns.includes(name));
    let number = 0;
    for (const group of metadata.row_groups) {
      const rows: Row[] = await orUserError(file, () =>
        parquetReadObjects({
          file: buffer,
          metadata,
          compressors,
          columns: wanted,
          rowStart: number,
          rowEnd: number + Number(group.num_rows),
        }));
      for (const row of rows) {
        const place = {
          file: file.path,
          unit: "row",
          number: ++number,
          columns: present,
          defaultSource: file.defaultSource,
        } as const;
        yield { row: plainValue(row) as Row, place };
      }
    }
  } finally {
    handle.close();
  }
}

function rangesOf(handle: Deno.FsFile): AsyncBuffer {
  const byteLength = handle.statSync().size;
  return {
    byteLength,
    // Synchronous: several ranges are asked for at once, and a file has one position.
    slice(start, end = byteLength) {
      const bytes = new Uint8Array(Math.max(0, end - start));
      handle.seekSync(start, Deno.SeekMode.Start);
      let filled = 0;
      while (filled < bytes.length) {
        const count = handle.readSync(bytes.subarray(filled));
        if (count === null) break;
        filled += count;
      }
      return bytes.buffer;
    },
  };
}

async function orUserError<T>(file: DataFile, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw new UserError(
      `${file.path}: cannot be read as Parquet: ${(error as Error).message}. The file may be cut ` +
        "short or damaged; download or write it again.",
    );
  }
}

function plainValue(value: unknown): unknown {
  if (typeof value === "bigint") {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : String(value);
  }
  if (value === undefined) return null;
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (Array.isArray(value)) return value.map(plainValue);
  if (ArrayBuffer.isView(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plainValue(inner)]));
}
