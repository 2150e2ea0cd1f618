import type { AnswerValue, Relation, RelationOperator } from "./answer_value.ts";
import { closeValues } from "./equal_formulas.ts";
import { formulaValueAt, parseFormula } from "./expressions.ts";
import { isName } from "./parse_relation.ts";

/** A part of the real line; a single point is closed at both ends. */
export interface Interval {
  readonly low: number;
  readonly high: number;
  readonly isLowClosed: boolean;
  readonly isHighClosed: boolean;
}

/** A set of real numbers as disjoint intervals in ascending order. */
export interface RealSet {
  readonly intervals: readonly Interval[];
  /** The variable it was stated for (`x < 3`), or null for a set named without one. */
  readonly variable: string | null;
}

const LINE: Interval = { low: -Infinity, high: Infinity, isLowClosed: false, isHighClosed: false };

/** Bound on the relative difference of two end points, which are held in double precision. */
const END_BOUND = 1e-12;

/**
 * The real numbers a value describes: an interval, a set of numbers, a union, the line without some
 * points, an inequality in one variable. Null for everything else, also where an end is no number.
 */
export function toRealSet(value: AnswerValue): RealSet | null {
  switch (value.kind) {
    case "quantity":
      return value.latex === "\\mathbb{R}" ? { intervals: [LINE], variable: null } : null;
    case "set":
      return ofPoints(value.items);
    case "group":
      return ofEnds(value);
    case "union":
      return join(value.parts);
    case "list":
      return value.isUnion ? join(value.items) : null;
    case "difference":
      return without(value.whole, value.removed);
    case "relation":
      return ofRelation(value);
    default:
      return null;
  }
}

/** Whether two sets have the same intervals, and the same variable where both name one. */
export function equalRealSets(a: RealSet, b: RealSet): boolean {
  if (a.variable !== null && b.variable !== null && a.variable !== b.variable) return false;
  return a.intervals.length === b.intervals.length && a.intervals.every((left, i) => {
    const right = b.intervals[i];
    return left.isLowClosed === right.isLowClosed && left.isHighClosed === right.isHighClosed &&
      closeEnds(left.low, right.low) && closeEnds(left.high, right.high);
  });
}

function closeEnds(a: number, b: number): boolean {
  return closeValues({ re: a, im: 0 }, { re: b, im: 0 }, END_BOUND);
}

function realNumber(value: AnswerValue): number | null {
  return value.kind === "quantity" && !value.isPercent ? realValue(value.latex) : null;
}

function realValue(latex: string): number | null {
  const formula = parseFormula(latex.replace(/^\+/, ""));
  if (formula === null || formula.unknowns.length > 0) return null;
  const value = formulaValueAt(formula, {});
  if (value === null || (Number.isFinite(value.re) && Math.abs(value.im) > 1e-15)) return null;
  return value.re;
}

function ofPoints(items: readonly AnswerValue[]): RealSet | null {
  const points = items.map(realNumber);
  if (!points.every((point) => point !== null)) return null;
  return merged(points.map((point) => ({
    low: point,
    high: point,
    isLowClosed: true,
    isHighClosed: true,
  })));
}

function ofEnds(group: AnswerValue & { kind: "group" }): RealSet | null {
  if (group.items.length !== 2) return null;
  const [low, high] = group.items.map(realNumber);
  if (low === null || high === null || low > high) return null;
  return merged([{
    low,
    high,
    isLowClosed: group.open === "[" && Number.isFinite(low),
    isHighClosed: group.close === "]" && Number.isFinite(high),
  }]);
}

function join(parts: readonly AnswerValue[]): RealSet | null {
  const sets = parts.map(toRealSet);
  if (!sets.every((set) => set !== null)) return null;
  const names = new Set(sets.map(({ variable }) => variable));
  if (names.size > 1) return null;
  return merged(sets.flatMap(({ intervals }) => intervals), sets[0].variable);
}

function without(whole: AnswerValue, removed: AnswerValue): RealSet | null {
  const [set, holes] = [toRealSet(whole), toRealSet(removed)];
  if (set === null || holes === null) return null;
  if (holes.intervals.some(({ low, high }) => low !== high)) return null;
  return removePoints(set, holes.intervals.map(({ low }) => low));
}

function removePoints(set: RealSet, points: readonly number[]): RealSet {
  let intervals = [...set.intervals];
  for (const point of points) {
    intervals = intervals.flatMap((interval) => {
      if (point < interval.low || point > interval.high) return [interval];
      return [
        { ...interval, high: point, isHighClosed: false },
        { ...interval, low: point, isLowClosed: false },
      ].filter(({ low, high }) => low < high);
    });
  }
  return { intervals, variable: set.variable };
}

function ofRelation({ sides, operators }: Relation): RealSet | null {
  if (operators.includes("=")) return null;
  const place = sides.findIndex(isName);
  const ends = sides.map((side, i) => i === place ? 0 : realValue(side));
  if (place < 0 || sides.length > 3 || !ends.every((end) => end !== null)) return null;
  if (sides.length === 3 && place !== 1) return null;
  let set: RealSet = { intervals: [LINE], variable: sides[place] };
  for (const [i, operator] of operators.entries()) {
    const isOnLeft = i === place;
    const end = ends[isOnLeft ? i + 1 : i];
    if (operator === "\\ne") set = removePoints(set, [end]);
    else set = cut(set, isOnLeft ? operator : mirrored(operator), end);
  }
  return set;
}

function mirrored(operator: RelationOperator): RelationOperator {
  const mirror = { "<": ">", ">": "<", "\\le": "\\ge", "\\ge": "\\le", "=": "=", "\\ne": "\\ne" };
  return mirror[operator] as RelationOperator;
}

/** The part of a set of one interval that lies on one side of `end`. */
function cut(set: RealSet, operator: RelationOperator, end: number): RealSet {
  const isClosed = operator === "\\le" || operator === "\\ge";
  const isUpper = operator === "<" || operator === "\\le";
  const intervals = set.intervals.map((interval) =>
    isUpper
      ? { ...interval, high: end, isHighClosed: isClosed && Number.isFinite(end) }
      : { ...interval, low: end, isLowClosed: isClosed && Number.isFinite(end) }
  ).filter(({ low, high, isLowClosed, isHighClosed }) =>
    low < high || (low === high && isLowClosed && isHighClosed)
  );
  return { ...set, intervals };
}

/** Sorts intervals and joins those that overlap or touch; empty ones are dropped. */
function merged(intervals: readonly Interval[], variable: string | null = null): RealSet {
  const sorted = intervals
    .filter(({ low, high, isLowClosed, isHighClosed }) =>
      low < high || (low === high && isLowClosed && isHighClosed)
    )
    .toSorted((a, b) => a.low - b.low || Number(b.isLowClosed) - Number(a.isLowClosed));
  const result: Interval[] = [];
  for (const next of sorted) {
    const last = result.at(-1);
    const meets = last !== undefined && (next.low < last.high ||
      (next.low === last.high && (next.isLowClosed || last.isHighClosed)));
    if (!meets) result.push(next);
    else {
      const isHighClosed = next.high === last.high
        ? next.isHighClosed || last.isHighClosed
        : next.high > last.high
        ? next.isHighClosed
        : last.isHighClosed;
      result[result.length - 1] = { ...last, high: Math.max(last.high, next.high), isHighClosed };
    }
  }
  return { intervals: result, variable };
}
