import assert from "node:assert/strict";
import fc from "fast-check";
import { smooth } from "../../../src/server/page/charts/smooth.ts";
import { phaseSpans } from "../../../src/server/page/charts/phase_spans.ts";
import { joinRuns } from "../../../src/server/page/charts/join_runs.ts";
import { CURVES, curvesOf } from "../../../src/server/page/charts/curves.ts";
import { movingMean } from "../../../src/run/report/curves.ts";

Deno.test("curves: smoothing is the mean over a policy's own steps, as in a report's picture", () => {
  assert.deepEqual(smooth([1, null, 3, null, null, 8], 3), [2, null, 4, null, null, 5.5]);
  assert.deepEqual(smooth([1, null, 3], 1), [1, null, 3]);
  assert.deepEqual(smooth([], 9), []);
  const values = fc.array(fc.option(fc.double({ min: -1e3, max: 1e3, noNaN: true })));
  fc.assert(fc.property(values, fc.integer({ min: 2, max: 30 }), (some, window) => {
    const smoothed = smooth(some, window);
    const points = some.flatMap((value, x) => value === null ? [] : [[x, value] as const]);
    for (const [x, mean] of movingMean(points, window)) {
      // Differences of running sums of up to 1e4: some 1e4 times f64's 1e-16, many times over.
      assert(Math.abs((smoothed[x] ?? NaN) - mean) < 1e-9);
    }
    assert.deepEqual(smoothed.map((one) => one === null), some.map((one) => one === null));
  }));
});

Deno.test("curves: phases are stretches of steps that touch, evaluations belong to none", () => {
  const phases = ["generator", "generator", "evaluation", "verifier", "generator"];
  assert.deepEqual(phaseSpans([1, 2, 2, 3, 4], phases), [
    { phase: "generator", from: 0.5, to: 2.5 },
    { phase: "verifier", from: 2.5, to: 3.5 },
    { phase: "generator", from: 3.5, to: 4.5 },
  ]);
  // Steps that down-sampling left out lie half here, half there.
  assert.deepEqual(phaseSpans([10, 20], ["generator", "verifier"]), [
    { phase: "generator", from: 9.5, to: 15 },
    { phase: "verifier", from: 15, to: 20.5 },
  ]);
  assert.deepEqual(phaseSpans([1, 2], ["sft", "evaluation"]), []);
  // Points that stand for steps of both belong to neither.
  assert.deepEqual(phaseSpans([9, 10, 20, 30], ["generator", "generator", "several", "verifier"]), [
    { phase: "generator", from: 8.5, to: 10.5 },
    { phase: "verifier", from: 29.5, to: 30.5 },
  ]);
  assert.deepEqual(phaseSpans([10, 20], ["several", "several"]), []);
});

Deno.test("curves: runs of different steps share one axis; a step's rows stand together", () => {
  const first = {
    steps: [0, 1, 1, 2],
    phases: ["evaluation", "generator", "evaluation", "verifier"],
    series: { a: [null, 5, null, null], b: [1, null, 2, null] },
  };
  const second = { steps: [2, 7], phases: ["generator", "generator"], series: { a: [8, 9] } };
  const joined = joinRuns([
    { table: first, name: "a" },
    { table: first, name: "b" },
    { table: second, name: "a" },
    { table: second, name: "none" },
  ]);
  assert.deepEqual(joined.steps, [0, 1, 2, 7]);
  assert.deepEqual(joined.columns, [
    [null, 5, null, null],
    [1, 2, null, null],
    [null, null, 8, 9],
    [null, null, null, null],
  ]);
});

Deno.test("curves: a run shows those that it has something to show in, and the one asked for", () => {
  const names = ["generator/reward", "verifier/reward", "generator/kl", "generator/odd"];
  assert.deepEqual(curvesOf(names, "").map(({ title, lines }) => [title, lines.length]), [
    ["Reward", 2],
    ["KL from the reference", 1],
  ]);
  assert.equal(curvesOf(names, "generator/odd")[0].title, "generator/odd");
  assert.equal(curvesOf(names, "generator/unheard").length, 2);
  assert.equal(new Set(CURVES.map(({ title }) => title)).size, CURVES.length);
});
