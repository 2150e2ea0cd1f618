import { UserError } from "../../base/user_error.ts";
import type { DataFile } from "./data_paths.ts";
import { parseJsonLines } from "./json_lines.ts";
import { describeValue, isRow, type PlacedRow, type Row } from "./row.ts";
import { readWholeText } from "./text_file.ts";

/** Keys under which files keep their rows; a list under another key may be part of one problem. */
const ROW_KEYS = new Set([
  "data",
  "rows",
  "examples",
  "records",
  "items",
  "instances",
  "problems",
  "questions",
  "train",
  "validation",
  "test",
]);

/**
 * Rows of a JSON file: a list of objects, an object that holds such a list, one object that is a problem,
 * or JSON Lines under the wrong ending. Throws a UserError that names the file and the row.
 */
export async function* readJsonFile(file: DataFile): AsyncGenerator<PlacedRow> {
  const text = await readWholeText(file);
  const firstLine = /\S.*/.exec(text)?.[0] ?? "";
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (isRow(tryParse(firstLine))) return yield* parseJsonLines(text, file);
    throw new UserError(
      `${file.path}: not JSON: ${
        (error as Error).message
      }. The file may be cut short; download or ` +
        "write it again.",
    );
  }
  const rows = isRow(value) ? findRows(value, file) : value;
  const place = { file: file.path, defaultSource: file.defaultSource };
  if (rows === null) {
    yield { row: value as Row, place: { ...place, unit: "file", number: 1 } };
  } else if (Array.isArray(rows)) {
    for (const [index, row] of rows.entries()) {
      if (!isRow(row)) {
        throw new UserError(
          `${file.path}, row ${index + 1}: found ${
            describeValue(row)
          }, expected a list of objects.`,
        );
      }
      yield { row, place: { ...place, unit: "row", number: index + 1 } };
    }
  } else {
    throw new UserError(
      `${file.path}: found ${describeValue(value)}, expected a list of objects or an object.`,
    );
  }
}

/** The list of rows in an object; null when the object is itself a row. */
function findRows(value: Row, file: DataFile): unknown[] | null {
  const holdsObjects = (list: unknown): list is unknown[] =>
    Array.isArray(list) && list.length > 0 && list.every(isRow);
  const keys = Object.keys(value);
  const rowKeys = keys.filter((key) =>
    holdsObjects(value[key]) && (keys.length === 1 || ROW_KEYS.has(key))
  );
  if (rowKeys.length > 1) {
    throw new UserError(
      `${file.path}: found rows under ${rowKeys.join(", ")}, expected one list of rows. ` +
        "Write each list to a file of its own.",
    );
  }
  return rowKeys.length === 1 ? value[rowKeys[0]] as unknown[] : null;
}

function tryParse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined; // not JSON Lines either: the caller reports what is wrong with the whole
  }
}
