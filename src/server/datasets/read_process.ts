/** The process that reads data for the server: it is given a `ReadRequest` as its only argument and prints the answer. */

import { UserError } from "../../base/user_error.ts";
import { checkRecords } from "../../data/files/check_records.ts";
import { previewRows } from "../../data/files/preview_rows.ts";
import type { ReadRequest } from "./reading.ts";

/** More are counted in a training run alone. */
const MOST_ROWS = 200_000;

async function read(request: ReadRequest) {
  const { path } = request;
  return request.what === "preview"
    ? await previewRows(path, request.shown, MOST_ROWS)
    : await checkRecords(path, request.asked, MOST_ROWS);
}

try {
  console.log(JSON.stringify(await read(JSON.parse(Deno.args[0]))));
} catch (error) {
  console.error(error instanceof UserError ? error.message : error);
  Deno.exit(error instanceof UserError ? 2 : 1);
}
