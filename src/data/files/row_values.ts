/** Values of a row as the types that records need, with errors that say what the file holds instead. */
import { UserError } from "../../base/user_error.ts";
import { describeValue, isRow, type Place, placeText, type Row } from "./row.ts";

/** The first of the columns that the row has. Throws a UserError that lists its columns when none is. */
export function findColumn(row: Row, names: readonly string[], place: Place): string {
  const found = names.find((name) => Object.hasOwn(row, name));
  if (found !== undefined) return found;
  const columns = place.columns ?? Object.keys(row);
  throw new UserError(
    `${placeText(place)}: there is no column ${names.map((name) => `"${name}"`).join(" or ")}; ` +
      `found ${
        columns.join(", ") || "no columns"
      }. Write null where a row has no value, or set the ` +
      "format or the columns of this file to what it holds.",
  );
}

/**
 * The text of a column under the first of its names that the row has; numbers and booleans are written
 * out, null and blank text are null. Throws a UserError when the column is missing or holds anything else.
 */
export function textOf(row: Row, names: readonly string[], place: Place): string | null {
  const name = findColumn(row, names, place);
  return textFrom(row[name], `${placeText(place)}, column "${name}"`);
}

/** As `textOf`, but null when the row has none of the columns. */
export function optionalTextOf(row: Row, names: readonly string[], place: Place): string | null {
  return names.some((name) => Object.hasOwn(row, name)) ? textOf(row, names, place) : null;
}

/** A value as text, as `textOf` gives it; `where` begins the message of the UserError. */
export function textFrom(value: unknown, where: string): string | null {
  switch (typeof value) {
    case "string":
      return value.trim() === "" ? null : value;
    case "number":
    case "boolean":
    case "bigint":
      return String(value);
  }
  if (value === null || value === undefined) return null;
  throw new UserError(`${where}: found ${describeValue(value)}, expected text.`);
}

/** A value as a list: a list, or JSON text of one. Throws a UserError that begins with `where`. */
export function listFrom(value: unknown, where: string): readonly unknown[] {
  const list = typeof value === "string" ? parseJson(value) : value;
  if (Array.isArray(list)) return list;
  throw new UserError(`${where}: found ${describeValue(value)}, expected a list.`);
}

/** A list of texts, none of them blank. Throws a UserError that begins with `where`. */
export function textsFrom(value: unknown, where: string): string[] {
  return listFrom(value, where).map((item, index) => {
    const text = textFrom(item, `${where}, item ${index + 1}`);
    if (text !== null) return text;
    throw new UserError(`${where}, item ${index + 1}: found nothing, expected text.`);
  });
}

/** A value as an object: an object, or JSON text of one. Throws a UserError that begins with `where`. */
export function objectFrom(value: unknown, where: string): Row {
  const object = typeof value === "string" ? parseJson(value) : value;
  if (isRow(object)) return object;
  throw new UserError(`${where}: found ${describeValue(value)}, expected an object.`);
}

/** A whole number, or its digits. Throws a UserError that begins with `where`. */
export function integerFrom(value: unknown, where: string): number {
  const number = typeof value === "string" && /^\s*-?\d+\s*$/.test(value) ? Number(value) : value;
  if (typeof number === "number" && Number.isSafeInteger(number)) return number;
  throw new UserError(`${where}: found ${describeValue(value)}, expected a whole number.`);
}

/**
 * A reference answer: text, a number or a boolean, or a list of these, which are joined by commas. Null
 * where there is none. Throws a UserError that begins with `where`.
 */
export function answerFrom(value: unknown, where: string): string | null {
  if (!Array.isArray(value)) return textFrom(value, where)?.trim() ?? null;
  const answers = value.map((item) => answerFrom(item, where)).filter((item) => item !== null);
  return answers.length === 0 ? null : answers.join(", ");
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the caller says what was found and what was expected
  }
}
