import assert from "node:assert/strict";
import { firstReach, readEnd, upTo } from "../../../src/run/compare/curve.ts";
import type { Point } from "../../../src/run/report/line_charts.ts";

const curve: Point[] = [[0, 0.2], [10, 0.4], [20, 0.4], [40, 0.8]];

Deno.test("curve: up to a budget, read by a straight line between evaluations", () => {
  assert.deepEqual(upTo(curve, 5)?.at(-1), [5, 0.30000000000000004]);
  assert.deepEqual(upTo(curve, 30), [[0, 0.2], [10, 0.4], [20, 0.4], [30, 0.6000000000000001]]);
  assert.deepEqual(upTo(curve, 20), [[0, 0.2], [10, 0.4], [20, 0.4]]);
  assert.deepEqual(upTo(curve, 40), curve);
  assert.deepEqual(upTo(curve, 0), [[0, 0.2]]);
  assert.equal(upTo(curve, 41), null);
  assert.equal(upTo([], 0), null);
});

Deno.test("curve: its end, the mean of the last five, and the area under it", () => {
  // Trapezoids by hand: 10·0.3 + 10·0.4 + 20·0.6 = 19, over 40.
  const { value, lastFive, area } = readEnd(curve);
  assert.equal(value, 0.8);
  assert.ok(Math.abs(lastFive - 0.45) < 1e-15);
  assert.ok(Math.abs(area - 0.475) < 1e-15);
  const long = Array.from({ length: 9 }, (_, i): Point => [i, i]);
  assert.equal(readEnd(long).lastFive, (4 + 5 + 6 + 7 + 8) / 5);
  assert.deepEqual(readEnd([[0, 0.5]]), { value: 0.5, lastFive: 0.5, area: 0.5 });
});

Deno.test("curve: where it first reaches a value", () => {
  assert.ok(Math.abs((firstReach(curve, 0.3) ?? NaN) - 5) < 1e-12);
  assert.equal(firstReach(curve, 0.4), 10);
  assert.ok(Math.abs((firstReach(curve, 0.5) ?? NaN) - 25) < 1e-12);
  assert.equal(firstReach(curve, 0.1), 0);
  assert.equal(firstReach(curve, 0.9), null);
});
