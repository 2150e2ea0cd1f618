import { UserError } from "../../../../base/user_error.ts";
import { files } from "../../platform/system/files.ts";
import type { DataFile } from "./data_paths.ts";

/**
 * The text of a file, without a byte order mark.
 *
 * @throws UserError when it is not UTF-8
 */
export async function* readText(file: DataFile): AsyncGenerator<string> {
  yield await readWholeText(file);
}

/** As `readText`, whole. */
export function readWholeText({ path }: DataFile): Promise<string> {
  return Promise.try(() => {
    const bytes = files.readFileSync(path);
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    } catch {
      throw new UserError(`${path}: found bytes that are not UTF-8 text; expected UTF-8.`);
    }
  });
}
