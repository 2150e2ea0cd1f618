import { basename } from "pathe";
import { UserError } from "../../../../base/user_error.ts";
import { files } from "../../platform/system/files.ts";

/** A file to read rows from. */
export interface DataFile {
  readonly path: string;
  readonly ending: string;
  readonly isCompressed: boolean;
  readonly defaultSource: string;
}

/**
 * The data file at a path: in a tab one of JSON Lines or JSON.
 *
 * @throws UserError when there is none, or it is of another kind
 */
export function findDataFiles(path: string): Promise<DataFile[]> {
  return Promise.try(() => {
    if (!files.statSync(path).isFile) throw new UserError(`${path} is a folder; expected a file.`);
    const ending = /\.(jsonl|ndjson|json)$/.exec(path)?.[0];
    if (ending === undefined) {
      throw new UserError(
        `${path}: a tab reads JSON Lines (.jsonl) and JSON. Convert the file, or use ./tango, which reads CSV ` +
          "and Parquet too.",
      );
    }
    const defaultSource = basename(path).slice(0, -ending.length);
    return [{ path, ending, isCompressed: false, defaultSource }];
  });
}
