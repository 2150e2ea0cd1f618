import { type ColumnMapping, mapColumns } from "./column_mapping.ts";
import { guessColumns } from "./guess_columns.ts";
import { guessFormat } from "./guess_format.ts";
import type { DataRecord, Format, LeftOut } from "./record.ts";
import type { Place, Row } from "./row.ts";

/** How rows become records: a published format, or which columns hold what. */
export type Reading = { readonly format: Format } | { readonly columns: ColumnMapping };

/** A reading in words that JSON can say. */
export type NamedReading = { readonly format: string } | { readonly columns: ColumnMapping };

/** A reading with the format's name instead of the format. */
export const namedReading = (reading: Reading): NamedReading =>
  "format" in reading ? { format: reading.format.name } : reading;

/** Makes a record of a row. Throws a UserError that names place and column when the row is malformed. */
export type Conversion = (row: Row, place: Place) => DataRecord | LeftOut;

/**
 * How a file is read that nobody says it of: by the format that its path names, else by the names of its
 * columns. Throws a UserError that says what to set when neither tells.
 */
export function guessReading(path: string, firstRow: Row, place: Place): Reading {
  const format = guessFormat(path, firstRow, place);
  return format === null ? { columns: guessColumns(firstRow, place) } : { format };
}

/** The conversion of rows to records by a reading. */
export function conversionOf(reading: Reading): Conversion {
  if ("format" in reading) return (row, place) => reading.format.toRecord(row, place);
  return (row, place) => mapColumns(row, reading.columns, place);
}

/** A reading as the configuration has it: `format: gsm8k`, or `columns: question = "Problem"`. */
export function describeReading(reading: Reading): string {
  if ("format" in reading) return `format: ${reading.format.name}`;
  const columns = Object.entries(reading.columns)
    .filter(([, path]) => path !== undefined)
    .map(([role, path]) => `${role} = ${[path].flat().map((name) => `"${name}"`).join(" + ")}`);
  return `columns: ${columns.join(", ")}`;
}
