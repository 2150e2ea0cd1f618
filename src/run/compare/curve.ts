/** Readings of an evaluation curve: held-out accuracy by generator steps, or by training seconds. */

import { mean } from "../../base/statistics.ts";
import type { Point } from "../report/line_charts.ts";

/** Evaluations whose mean a curve's end is read by: one alone is noisy. */
export const LAST = 5;

/** What a curve comes to at its end. */
export interface CurveEnd {
  /** The last value. */
  readonly value: number;
  /** Mean of the last five values, or of all where there are fewer. */
  readonly lastFive: number;
  /** Area under the curve, divided by its length: the mean accuracy on the way. */
  readonly area: number;
}

/**
 * The curve up to a budget; its last value is interpolated between the evaluations around it.
 *
 * @param curve in order of x, from x = 0
 * @returns null where the curve ends before
 */
export function upTo(curve: readonly Point[], budget: number): Point[] | null {
  const last = curve.at(-1);
  if (last === undefined || last[0] < budget) return null;
  const before = curve.filter(([x]) => x < budget);
  const next = curve[before.length];
  const previous = before.at(-1);
  if (previous === undefined || next[0] === budget) return [...before, next];
  return [...before, [budget, between(previous, next, budget)]];
}

const between = ([x0, y0]: Point, [x1, y1]: Point, x: number) =>
  y0 + (y1 - y0) * (x - x0) / (x1 - x0);

/**
 * Reads a curve at its end.
 *
 * @param curve of at least one point
 * @param measured those of its points of which the last five are taken: no value twice that was measured once
 */
export function readEnd(curve: readonly Point[], measured = curve): CurveEnd {
  const [last] = curve[curve.length - 1];
  const length = last - curve[0][0];
  const area = curve.slice(1).reduce(
    (sum, [x, y], i) => sum + (x - curve[i][0]) * (y + curve[i][1]) / 2,
    0,
  );
  const [, value] = curve[curve.length - 1];
  return {
    value,
    lastFive: mean(measured.slice(-LAST).map(([, one]) => one)),
    area: length === 0 ? value : area / length,
  };
}

/** Where a curve first reaches a value, interpolated; null where it never does. */
export function firstReach(curve: readonly Point[], target: number): number | null {
  const index = curve.findIndex(([, value]) => value >= target);
  if (index < 0) return null;
  const [x, y] = curve[index];
  if (index === 0) return x;
  const [x0, y0] = curve[index - 1];
  return x0 + (x - x0) * (target - y0) / (y - y0);
}
