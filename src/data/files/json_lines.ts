import { UserError } from "../../base/user_error.ts";
import type { DataFile } from "./data_paths.ts";
import { describeValue, isRow, type PlacedRow } from "./row.ts";
import { readText } from "./text_file.ts";

/** Rows of a JSON Lines file; blank lines are allowed. Throws a UserError that names file and line. */
export async function* jsonLineRows(file: DataFile): AsyncGenerator<PlacedRow> {
  let rest = "", number = 0;
  for await (const text of readText(file)) {
    const lines = text.split("\n");
    lines[0] = rest + lines[0];
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const row = parseLine(line, ++number, file);
      if (row) yield row;
    }
  }
  const row = parseLine(rest, ++number, file);
  if (row) yield row;
}

/** Rows of text in JSON Lines that was read already. Throws as `jsonLineRows` does. */
export function* parseJsonLines(text: string, file: DataFile): Generator<PlacedRow> {
  for (const [index, line] of text.split("\n").entries()) {
    const row = parseLine(line, index + 1, file);
    if (row) yield row;
  }
}

function parseLine(line: string, number: number, file: DataFile): PlacedRow | null {
  if (line.trim() === "") return null;
  let row: unknown;
  try {
    row = JSON.parse(line);
  } catch (error) {
    throw new UserError(
      `${file.path}:${number}: not JSON: ${
        (error as Error).message
      }. Expected one JSON object per ` +
        "line; the file may be cut short.",
    );
  }
  if (!isRow(row)) {
    throw new UserError(
      `${file.path}:${number}: found ${describeValue(row)}, expected a JSON object per line.`,
    );
  }
  return {
    row,
    place: { file: file.path, unit: "line", number, defaultSource: file.defaultSource },
  };
}
