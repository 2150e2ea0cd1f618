import { formatValue } from "../format.ts";
import type { RunDifferenceView } from "../../differences/difference_schema.ts";

/** Something that two runs went by and that was not the same. */
export interface Cause {
  readonly what: string;
  /** What else there is to say of it; "" for nothing. */
  readonly note: string;
  readonly a: string;
  readonly b: string;
}

/** What may be why two runs part: settings, files, and where they were computed. */
export function causesOf(
  { settings, inputs, surroundings }: Pick<
    RunDifferenceView,
    "settings" | "inputs" | "surroundings"
  >,
): Cause[] {
  const said = (value: unknown) => value === undefined ? "not said" : formatValue(value);
  return [
    ...settings.map(({ key, step, a, b }) => ({
      what: key,
      note: step === 0 ? "" : `changed from step ${step} on`,
      a: said(a),
      b: said(b),
    })),
    ...inputs.map(({ key, a, b, line }) => ({ what: key, note: noteOf(a === b, line), a, b })),
    ...surroundings.map(({ what, a, b, isVisible }) => ({
      what,
      note: isVisible ? "" : "shows in no bit",
      a,
      b,
    })),
  ];
}

function noteOf(isOnePath: boolean, line: number | null) {
  return [
    isOnePath ? "has changed in between" : "another file",
    ...(line === null ? [] : [`from line ${line} on`]),
  ].join(", ");
}
