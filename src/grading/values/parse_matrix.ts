import type { AnswerValue } from "./answer_value.ts";
import { splitTopLevel } from "../text/brackets.ts";

const MATRIX = /^\\begin\{([pbB]?matrix|array)\}(?:\{[^{}]*\})?([^]*)\\end\{\1\}$/;

/** Reads a matrix or column vector. What encloses it (round, square or no brackets) does not matter. */
export function parseMatrix(
  text: string,
  parseEntry: (text: string) => AnswerValue | null,
): AnswerValue | null {
  const body = MATRIX.exec(text)?.[2];
  if (body === undefined) return null;
  const lines = splitTopLevel(body, new Set(["\\\\"]))?.parts ?? [];
  const rows: AnswerValue[][] = [];
  for (const line of lines.filter((line) => line.trim() !== "")) {
    const entries = (splitTopLevel(line, new Set(["&"]))?.parts ?? []).map((entry) =>
      parseEntry(entry.trim())
    );
    if (!entries.every((entry) => entry !== null)) return null;
    rows.push(entries);
  }
  return { kind: "matrix", rows };
}
