import { UserError } from "../../base/user_error.ts";
import { guessReading, type NamedReading, namedReading } from "./guess_reading.ts";
import { streamRows } from "./read_rows.ts";
import { isRow, type Row } from "./row.ts";

/** Kinds of a column's values; text that is digits alone counts as a number, as CSV has nothing else. */
export const valueKinds = ["text", "number", "boolean", "list", "object", "nothing"] as const;
export type ValueKind = typeof valueKinds[number];

/** A look into a file or folder, for a person who decides how it is read. */
export interface Preview {
  /** Rows that were looked at. */
  readonly rows: number;
  /** Whether these are all. */
  readonly isWhole: boolean;
  readonly columns: readonly { readonly name: string; readonly kinds: readonly ValueKind[] }[];
  /** The first rows; long values are cut. */
  readonly first: readonly Row[];
  /** How it would be read if nobody said it; null where that cannot be told. */
  readonly reading: NamedReading | null;
  /** Why it cannot be told. */
  readonly problem: string | null;
}

const LONGEST_TEXT = 500;
const LONGEST_LIST = 20;

/**
 * Looks at the rows of a file or folder.
 *
 * @param shown how many of the first rows are given
 * @param most how many are looked at
 * @throws UserError when there are none, or a row cannot be read
 */
export async function previewRows(path: string, shown: number, most: number): Promise<Preview> {
  const kinds = new Map<string, Set<ValueKind>>();
  const first: Row[] = [];
  let reading: NamedReading | null = null;
  let problem: string | null = null;
  let rows = 0;
  let isWhole = true;
  for await (const { row, place } of streamRows(path)) {
    if (rows === most) {
      isWhole = false;
      break;
    }
    if (rows++ === 0) {
      try {
        reading = namedReading(guessReading(path, row, place));
      } catch (error) {
        if (!(error instanceof UserError)) throw error;
        problem = error.message;
      }
    }
    if (first.length < shown) first.push(cut(row) as Row);
    for (const [name, value] of Object.entries(row)) {
      let found = kinds.get(name);
      if (!found) kinds.set(name, found = new Set());
      found.add(kindOf(value));
    }
  }
  if (rows === 0) throw new UserError(`${path}: there is no row in it.`);
  const columns = Array.from(kinds, ([name, found]) => (
    { name, kinds: valueKinds.filter((kind) => found.has(kind)) }
  ));
  return { rows, isWhole, columns, first, reading, problem };
}

function kindOf(value: unknown): ValueKind {
  if (value === null || value === undefined || value === "") return "nothing";
  if (typeof value === "string") return /^\s*-?\d+(\.\d+)?\s*$/.test(value) ? "number" : "text";
  if (typeof value === "number" || typeof value === "bigint") return "number";
  if (typeof value === "boolean") return "boolean";
  return Array.isArray(value) ? "list" : "object";
}

/** A value without what would make it too long to be shown. */
function cut(value: unknown): unknown {
  if (typeof value === "string") {
    return value.length <= LONGEST_TEXT ? value : `${value.slice(0, LONGEST_TEXT - 1)}…`;
  }
  if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`;
  if (Array.isArray(value)) return value.slice(0, LONGEST_LIST).map(cut);
  if (!isRow(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, cut(inner)]));
}
