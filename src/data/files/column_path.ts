import { UserError } from "../../base/user_error.ts";
import { describeValue, isRow, type Place, placeText, type Row } from "./row.ts";
import { findColumn } from "./row_values.ts";

/** The column of the file that a path begins with. */
export function topColumn(path: string): string {
  return path.split(".")[0];
}

/**
 * The value at a path of column, keys and list positions (from 0): `reward_model.ground_truth`,
 * `prompt.0.content`. A column whose own name has dots in it goes before. Null on the way gives null.
 * Throws a UserError that says what there is instead when a name or a position is missing.
 */
export function columnValue(row: Row, path: string, place: Place): unknown {
  if (Object.hasOwn(row, path)) return row[path];
  const [column, ...keys] = path.split(".");
  let value = row[findColumn(row, [column], place)];
  for (const [index, key] of keys.entries()) {
    if (value === null || value === undefined) return null;
    const inner = Array.isArray(value)
      ? value[Number(key)]
      : isRow(value) && Object.hasOwn(value, key)
      ? value[key]
      : undefined;
    if (inner === undefined) {
      const parent = [column, ...keys.slice(0, index)].join(".");
      throw new UserError(
        `${placeText(place)}: there is no "${path}": "${parent}" is ${describeValue(value)}. ` +
          "Set the columns of this file to what it holds.",
      );
    }
    value = inner;
  }
  return value;
}
