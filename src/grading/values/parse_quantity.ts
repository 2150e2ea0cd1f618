import type { AnswerValue } from "./answer_value.ts";
import { canonicalUnit } from "../text/units.ts";

/** Quoted words after a value, with their powers: `"cm"^2`, `"m"/"s"`. */
const TRAILING_UNIT = /(?:(?:\/|\\cdot)?"[^"]*"(?:\^\{?-?\d\}?|\^"[^"]*")?)+$/;
const LEADING_MONEY = /^([+-]?)"(dollar|euro)"/;
const DEGREES = /^(.*?[\d})a-z])\\degree\s*"?([CF]?)"?$/;
const NUMBER_IN_BASE = /^([+-]?[\dA-F]*\d[\dA-F]*)_(?:(\d)|\{(\d+)\}|\{?"([a-z]+)"\}?)$/;
const TIME = /^(\d{1,2}:\d{2})(?:"([^"]*)")?$/;

const BASES = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

/** Reads a single value: a time, a ratio, a number in a base, or a formula with percent sign or unit. */
export function parseQuantity(text: string): AnswerValue {
  const time = TIME.exec(text);
  if (time) return { kind: "time", text: time[1], unit: canonicalUnit(time[2] ?? "") };
  const based = NUMBER_IN_BASE.exec(text);
  if (based) {
    const base = based[2] ?? based[3] ?? String(BASES.indexOf(based[4]) + 2);
    return quantity(based[1], `base ${base}`);
  }
  const money = LEADING_MONEY.exec(text);
  if (money) return { ...readMeasure(text.replace(LEADING_MONEY, "$1")), unit: money[2] };
  return readMeasure(text);
}

function readMeasure(text: string) {
  const degrees = DEGREES.exec(text);
  // A degree sign inside a formula, as in \sin 30°, belongs to it.
  if (degrees && !/\\(?:sin|cos|tan|cot|sec|csc|degree)/.test(degrees[1])) {
    const [, latex, scale] = degrees;
    return quantity(latex, scale === "C" ? "celsius" : scale === "F" ? "fahrenheit" : "degree");
  }
  const written = TRAILING_UNIT.exec(text)?.[0];
  const bare = written === undefined ? text : text.slice(0, -written.length);
  if (written === undefined || bare.trim() === "") return readPercent(text, null);
  const words = written.replaceAll('"', " ").replaceAll(/\s*\^\s*/g, "^");
  if (/^\s*(?:percent|pct|percentage)\s*$/i.test(words)) return readPercent(`${bare}\\%`, null);
  return readPercent(bare, canonicalUnit(words));
}

function readPercent(text: string, unit: string | null) {
  const isPercent = /\\%$/.test(text) && text.length > 2;
  return quantity(isPercent ? text.slice(0, -2) : writeRatio(text), unit, isPercent);
}

/** A ratio `3:4` is the quotient 3/4. */
function writeRatio(text: string): string {
  return text.replace(/^([^:]+):([^:]+)$/, "\\frac{$1}{$2}");
}

function quantity(latex: string, unit: string | null, isPercent = false) {
  return { kind: "quantity", latex: latex.trim(), unit, isPercent } as const;
}
