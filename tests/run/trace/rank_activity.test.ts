import assert from "node:assert/strict";
import type { Activity } from "../../../src/run/store/timeline_log.ts";
import { rankActivity } from "../../../src/run/trace/rank_activity.ts";
import type { Span } from "../../../src/run/trace/span.ts";

const phase = (phaseOf: number, name: string, begin: number, end: number): Span => ({
  track: "run",
  name,
  begin,
  end,
  phaseOf,
});

const short = (spans: readonly Activity[] = []) =>
  spans.map(({ name, begin, end }) => [name, begin, end]);

/** How long each name lasts. */
function sums(spans: readonly Activity[]): Record<string, number> {
  const result: Record<string, number> = {};
  for (const { name, begin, end } of spans) result[name] = (result[name] ?? 0) + end - begin;
  return result;
}

Deno.test("rank activity: the innermost phase, unless the rank waits or communicates", () => {
  const steps = rankActivity([
    // What came after the step before is told with this one.
    phase(1, "checkpoint", 0, 5),
    phase(2, "rollout", 10, 20),
    phase(2, "forward-backward", 21, 30),
    phase(2, "optimizer", 31, 38),
    phase(2, "update", 20, 40),
  ], { idle: [[4, 7], [18, 22]], communicating: [[2, 4], [28, 29], [41, 42]] });
  assert.deepEqual([...steps.keys()], [1, 2]);
  assert.deepEqual(short(steps.get(1)), [
    ["checkpoint", 0, 2],
    ["communicate", 2, 4],
    ["idle", 4, 7],
  ]);
  assert.deepEqual(short(steps.get(2)), [
    ["rollout", 10, 18],
    ["idle", 18, 22],
    ["forward-backward", 22, 28],
    ["communicate", 28, 29],
    ["forward-backward", 29, 30],
    ["update", 30, 31],
    ["optimizer", 31, 38],
    ["update", 38, 40],
    ["communicate", 41, 42],
  ]);
  assert.equal(rankActivity([], { idle: [[0, 1]], communicating: [] }).size, 0);
});

Deno.test("rank activity: a thousand waits are few spans of the same length together", () => {
  const waits = Array.from({ length: 1000 }, (_, i) => [i + 0.5, i + 0.75] as const);
  const steps = rankActivity(
    [phase(1, "rollout", 0, 400), phase(1, "optimizer", 400, 1000)],
    { idle: waits, communicating: [] },
  );
  const spans = steps.get(1) ?? [];
  assert.ok(spans.length <= 32, `${spans.length} spans`);
  spans.slice(1).forEach(({ begin }, i) => assert.ok(begin >= spans[i].end - 1e-9));
  const { rollout, optimizer, idle, ...others } = sums(spans);
  assert.deepEqual(others, {});
  // Sums of some thousand doubles below a thousand.
  for (const [found, expected] of [[rollout, 300], [optimizer, 450], [idle, 250]]) {
    assert.ok(Math.abs(found - expected) < 1e-9, `${found} instead of ${expected}`);
  }
  // Each wait stays within its eighth of the step.
  const early = spans.filter(({ name, end }) => name === "idle" && end <= 500 + 1e-9);
  assert.ok(Math.abs(sums(early).idle - 125) < 1e-9);
});
