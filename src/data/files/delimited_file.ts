import { Readable } from "node:stream";
import { type CsvError, parse } from "csv-parse";
import { UserError } from "../../base/user_error.ts";
import type { DataFile } from "./data_paths.ts";
import type { PlacedRow, Row } from "./row.ts";
import { readText } from "./text_file.ts";

/**
 * Rows of a CSV or TSV file whose first row names the columns (RFC 4180: fields in double quotes may hold
 * delimiters, line breaks and doubled quotes). All values are text. Throws a UserError that names the line
 * when the header is missing or names a column twice, a row has another number of fields than the header,
 * or a quote is left open.
 */
export async function* readDelimitedFile(file: DataFile): AsyncGenerator<PlacedRow> {
  const isTabbed = file.ending === ".tsv";
  let hasHeader = false;
  const parser = parse({
    delimiter: isTabbed ? "\t" : ",",
    // Tab-separated files seldom quote: 5" in the middle of a field is text.
    relax_quotes: isTabbed,
    skip_empty_lines: true,
    info: true,
    columns: (header: string[]) => {
      hasHeader = true;
      return checkHeader(header, file);
    },
  });
  let readFailure: unknown;
  const text = Readable.from(keepFailure(readText(file), (error) => readFailure = error));
  text.on("error", (error) => parser.destroy(error));
  try {
    for await (const { record, info } of text.pipe(parser) as AsyncIterable<Parsed>) {
      const place = {
        file: file.path,
        unit: "line",
        number: info.lines,
        defaultSource: file.defaultSource,
      } as const;
      yield { row: record, place };
    }
  } catch (error) {
    throw readFailure ?? describe(error, file);
  } finally {
    text.destroy();
  }
  if (!hasHeader) {
    throw new UserError(
      `${file.path}: the file is empty; expected a first row that names the columns.`,
    );
  }
}

interface Parsed {
  record: Row;
  /** `lines` is the line on which the row ends. */
  info: { lines: number };
}

/** Errors of the reader reach the parser wrapped or replaced; the first one is what the user needs. */
async function* keepFailure(
  text: AsyncIterable<string>,
  keep: (error: unknown) => void,
): AsyncGenerator<string> {
  try {
    yield* text;
  } catch (error) {
    keep(error);
    throw error;
  }
}

function checkHeader(header: string[], file: DataFile): string[] {
  const repeated = header.find((name, index) => header.indexOf(name) !== index);
  if (repeated !== undefined) {
    throw new UserError(
      `${file.path}:1: found the column "${repeated}" twice, expected names that differ.`,
    );
  }
  return header;
}

function describe(error: unknown, file: DataFile): unknown {
  if (!(error instanceof Error) || !("code" in error)) return error;
  const { code, lines, message, record } = error as CsvError;
  if (code === "CSV_RECORD_INCONSISTENT_COLUMNS") {
    const found = Array.isArray(record) ? record.length : "another number of";
    return new UserError(
      `${file.path}:${lines}: found ${found} fields, expected as many as the first row names. ` +
        "Put fields that hold the delimiter or a line break in double quotes.",
    );
  }
  return new UserError(
    `${file.path}:${lines}: ${message}. Put fields that hold quotes in double quotes and double ` +
      "the quotes inside.",
  );
}
