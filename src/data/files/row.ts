/** A row of a data file by column names; values are as JSON has them. */
export type Row = Readonly<Record<string, unknown>>;

/** Where a row comes from, for messages and for naming its source. */
export interface Place {
  readonly file: string;
  /** What `number` counts, from 1: lines of text, rows, or nothing when the file is one row. */
  readonly unit: "line" | "row" | "file";
  readonly number: number;
  /** All columns of the file where it lists them apart from the row (Parquet read in part). */
  readonly columns?: readonly string[];
  /**
   * What measurements go by where the row does not say: the folder below the given directory, else the
   * name of the directory or of the file.
   */
  readonly defaultSource: string;
}

/** A row and where it comes from. */
export interface PlacedRow {
  readonly row: Row;
  readonly place: Place;
}

/** A place in words: `train.jsonl:12` for lines, `train.parquet, row 12` for rows. */
export function placeText({ file, unit, number }: Place): string {
  if (unit === "file") return file;
  return unit === "line" ? `${file}:${number}` : `${file}, row ${number}`;
}

/** Whether a value is a set of named values: neither a list nor null. */
export function isRow(value: unknown): value is Row {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A value in a message: its kind and, where short, the value itself. */
export function describeValue(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === "object") {
    return `an object with ${Object.keys(value).join(", ") || "no keys"}`;
  }
  const text = typeof value === "string" ? JSON.stringify(value) : String(value);
  return text.length <= 60 ? text : `${text.slice(0, 57)}…`;
}
