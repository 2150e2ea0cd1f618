import { UserError } from "../../base/user_error.ts";
import { type ColumnMapping, mappedColumns } from "./column_mapping.ts";
import { findFormat } from "./formats.ts";
import { type Conversion, conversionOf, describeReading, guessReading } from "./guess_reading.ts";
import { EntryCounter, type LoadReport, reportText } from "./load_report.ts";
import { streamRows } from "./read_rows.ts";
import { comparisons, type DataRecord } from "./record.ts";
import { makeRecordFilter, type RecordFilters } from "./record_filter.ts";
import type { Place, Row } from "./row.ts";

/** An entry of a data set: a file or directory and how its rows are read. */
export interface DataFiles {
  readonly path: string;
  /** Name of a published format; see `formats`. */
  readonly format?: string;
  /** Which columns hold what. Neither this nor `format`: guessed from the path, then from the columns. */
  readonly columns?: ColumnMapping;
  /** Replaces what the rows say their source is. */
  readonly source?: string;
  /** The number of records to pass over first, such as those that fine-tuning imitates; none when not given. */
  readonly skip?: number;
  /** The number of records to take, from the first on that is not passed over; all when not given. */
  readonly limit?: number;
}

/** Records and what became of the rows that are not among them. */
export interface LoadedRecords {
  readonly records: readonly DataRecord[];
  /** The place of each record's entry. */
  readonly entryOf: readonly number[];
  readonly report: LoadReport;
}

/**
 * Reads a data set: the records of all entries in their order, without duplicates and what the filters
 * drop. The same files give the same records in the same order.
 *
 * Throws a UserError when an entry makes no sense, a file cannot be read, a row is malformed, or no record
 * is left; the message of the last has the counts.
 */
export async function loadRecords(
  entries: readonly DataFiles[],
  filters: RecordFilters = {},
): Promise<LoadedRecords> {
  if (entries.length === 0) {
    throw new UserError("data: found no files, expected at least one path.");
  }
  entries.forEach(checkEntry);
  const filter = makeRecordFilter(filters);
  const records: DataRecord[] = [], entryOf: number[] = [];
  const reports = [];
  for (const [number, entry] of entries.entries()) {
    const counter = new EntryCounter(entry.path);
    const { columns, convert } = rowReader(entry, counter);
    let passedOver = 0;
    for await (const { row, place } of streamRows(entry.path, { columns })) {
      const made = convert(row, place);
      if ("leftOut" in made) {
        counter.drop(made.leftOut, place);
        continue;
      }
      const reason = filter(made);
      if (reason !== null) {
        counter.drop(reason, place);
        continue;
      }
      // A duplicate of what is passed over is passed over as well: the filter knows it.
      if (passedOver < (entry.skip ?? 0)) {
        passedOver++;
        counter.drop(`among the first ${entry.skip}, which are passed over`, place);
        continue;
      }
      const record = entry.source === undefined ? made : { ...made, source: entry.source };
      records.push(record);
      entryOf.push(number);
      counter.keep(record.source);
      if (counter.records === entry.limit) break;
    }
    reports.push(counter.report());
  }
  const report = { records: records.length, entries: reports };
  if (records.length > 0) return { records, entryOf, report };
  throw new UserError(
    `data: no record is left to use.\n${reportText(report)}\n` +
      "Check the paths, the format or columns, and the filters.",
  );
}

function checkEntry({ path, format, columns, skip, limit }: DataFiles): void {
  if (format !== undefined && columns !== undefined) {
    throw new UserError(`${path}: found format and columns, expected only one of them.`);
  }
  if (format !== undefined) findFormat(format);
  const comparison = columns?.comparison;
  if (comparison !== undefined && !comparisons.includes(comparison)) {
    throw new UserError(
      `${path}: comparison: found "${comparison}", expected one of ${comparisons.join(", ")}.`,
    );
  }
  if (skip !== undefined && !(Number.isInteger(skip) && skip >= 0)) {
    throw new UserError(`${path}: skip: found ${skip}, expected a whole number from 0 up.`);
  }
  if (limit !== undefined && !(Number.isInteger(limit) && limit > 0)) {
    throw new UserError(`${path}: limit: found ${limit}, expected a whole number from 1 up.`);
  }
}

/** The conversion of an entry's rows to records, and the columns that it looks at (all: undefined). */
interface RowReader {
  readonly columns?: readonly string[];
  readonly convert: Conversion;
}

function rowReader({ path, format, columns }: DataFiles, counter: EntryCounter): RowReader {
  if (format !== undefined) {
    const found = findFormat(format);
    return { columns: found.columns, convert: conversionOf({ format: found }) };
  }
  if (columns !== undefined) {
    return { columns: mappedColumns(columns), convert: conversionOf({ columns }) };
  }
  let guessed: Conversion | undefined;
  return {
    convert(row, place) {
      guessed ??= guessConversion(path, row, place, counter);
      return guessed(row, place);
    },
  };
}

/** By the format that the path names, else by the names of the columns. */
function guessConversion(
  path: string,
  row: Row,
  place: Place,
  counter: EntryCounter,
): Conversion {
  const reading = guessReading(path, row, place);
  counter.guessed = describeReading(reading);
  return conversionOf(reading);
}
