import type { DataFile } from "./data_paths.ts";
import { findDataFiles } from "./data_paths.ts";
import { readDelimitedFile } from "./delimited_file.ts";
import { readJsonFile } from "./json_file.ts";
import { jsonLineRows } from "./json_lines.ts";
import { readParquetFile } from "./parquet_file.ts";
import type { PlacedRow } from "./row.ts";

/** Options that limit what is read of a file. */
export interface ReadOptions {
  /** Columns that are needed; of Parquet files only these are read. All when not given. */
  readonly columns?: readonly string[];
}

/**
 * The rows of a data file, or of all data files in a directory and below it, in sorted order: JSON Lines,
 * JSON, CSV, TSV (each also as .gz) and Parquet, told apart by their endings. Rows come as they are read, so
 * that a large file need not fit in memory (a .json file must).
 *
 * Throws a UserError that names the file, and the line or row, when something cannot be read.
 */
export async function* streamRows(
  path: string,
  options: ReadOptions = {},
): AsyncGenerator<PlacedRow> {
  for (const file of await findDataFiles(path)) yield* readFile(file, options);
}

function readFile(file: DataFile, { columns }: ReadOptions): AsyncGenerator<PlacedRow> {
  switch (file.ending) {
    case ".json":
      return readJsonFile(file);
    case ".csv":
    case ".tsv":
      return readDelimitedFile(file);
    case ".parquet":
      return readParquetFile(file, columns);
    default:
      return jsonLineRows(file);
  }
}
