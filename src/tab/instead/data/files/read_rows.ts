import { readJsonFile } from "../../../../data/files/json_file.ts";
import { jsonLineRows } from "../../../../data/files/json_lines.ts";
import type { PlacedRow } from "../../../../data/files/row.ts";
import { findDataFiles } from "./data_paths.ts";

/** The rows of a file of JSON Lines or JSON. Throws a UserError that names the file, and the line or row. */
export async function* streamRows(path: string): AsyncGenerator<PlacedRow> {
  for (const file of await findDataFiles(path)) {
    yield* file.ending === ".json" ? readJsonFile(file) : jsonLineRows(file);
  }
}
