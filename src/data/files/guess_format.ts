import { UserError } from "../../base/user_error.ts";
import { formats } from "./formats.ts";
import type { Format } from "./record.ts";
import type { Place, Row } from "./row.ts";

/** Letters and digits alone, in lower case: "MATH-500" and "math500" are one name. */
const plain = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, "");

/**
 * The published format that a file's or a folder's name tells, if its first row is in that format: the
 * last part of the path that is such a name, alone or before a separator, as in gsm8k-test.jsonl.
 */
export function guessFormat(path: string, row: Row, place: Place): Format | null {
  const parts = path.split(/[\\/]/).toReversed().map((part) => part.split(".")[0]);
  const isNamed = (part: string, { name }: Format) =>
    [part, ...part.split(/[-_ ]/)].some((piece) => plain(piece) === plain(name));
  const candidates = parts.flatMap((part) => formats.filter((format) => isNamed(part, format)));
  return candidates.find((format) => reads(format, row, place)) ?? null;
}

function reads(format: Format, row: Row, place: Place): boolean {
  try {
    format.toRecord(row, place);
    return true;
  } catch (error) {
    if (error instanceof UserError) return false;
    throw error;
  }
}
