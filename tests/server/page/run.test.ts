import assert from "node:assert/strict";
import { confusionShares } from "../../../src/server/page/run/confusion_shares.ts";
import { eventWords } from "../../../src/server/page/run/event_words.ts";
import { flatten } from "../../../src/server/page/run/flatten.ts";
import { rankMetrics, rankShares } from "../../../src/server/page/run/rank_shares.ts";
import { spanPlaces } from "../../../src/server/page/run/span_places.ts";
import { spanTotals } from "../../../src/server/page/run/span_totals.ts";
import { verifierMetrics } from "../../../src/rl/measures/verifier_metrics.ts";

Deno.test("confusion matrix: shares of all verdicts, and the balanced accuracy of the run's own metrics", () => {
  const verdicts = [[true, true], [true, true], [true, false], [false, false], [false, true]];
  const count = (correct: boolean, verdict: boolean) =>
    verdicts.filter(([truth, said]) => truth === correct && said === verdict).length;
  const [shares] = confusionShares([{
    step: 3,
    source: "training" as const,
    trueCorrect: count(true, true),
    falseIncorrect: count(true, false),
    trueIncorrect: count(false, false),
    falseCorrect: count(false, true),
    unparsed: 1,
  }]);
  assert.deepEqual([shares.trueCorrect, shares.falseIncorrect, shares.unparsed], [0.4, 0.2, 0.2]);
  const { balancedAccuracy } = verifierMetrics(verdicts.map(([solutionIsCorrect, verdict]) => ({
    solutionIsCorrect,
    verdict,
    stepJudgments: [],
    stepCount: 0,
  })));
  assert.equal(shares.balancedAccuracy, balancedAccuracy);
});

Deno.test("confusion matrix: a step of one kind of solutions has one recall, one without any is left out", () => {
  const none = {
    source: "training" as const,
    trueCorrect: 0,
    falseCorrect: 0,
    falseIncorrect: 0,
    unparsed: 0,
  };
  assert.equal(confusionShares([{ ...none, step: 1, trueIncorrect: 4 }])[0].balancedAccuracy, 1);
  assert.deepEqual(confusionShares([{ ...none, step: 1, trueIncorrect: 0 }]), []);
});

Deno.test("timeline: sums over ranks, longest first", () => {
  const ranks = [
    { rank: 0, spans: [{ name: "rollout", step: 1, begin: 2, end: 3 }] },
    {
      rank: 1,
      spans: [
        { name: "update", step: 1, begin: 3, end: 6 },
        { name: "rollout", step: 2, begin: 6, end: 6.5 },
      ],
    },
  ];
  assert.deepEqual(spanTotals(ranks), [
    { name: "update", seconds: 3, share: 3 / 4.5 },
    { name: "rollout", seconds: 1.5, share: 1.5 / 4.5 },
  ]);
  assert.deepEqual(spanTotals([]), []);
});

Deno.test("timeline: a gap in which nothing was done is drawn short, and told", () => {
  const span = (step: number, begin: number, end: number) => ({ name: "a", step, begin, end });
  const { length, placeOf, gaps } = spanPlaces([
    { rank: 0, spans: [span(1, 10, 60), span(2, 61, 100), span(3, 5000, 5011)] },
    { rank: 1, spans: [span(1, 10, 50), span(2, 62, 90)] },
  ]);
  // 50, 39 and 11 seconds, a second between the first two and 3 % of all that before the last.
  assert.equal(length, 104);
  assert.deepEqual([10, 61, 62, 5000, 5011].map(placeOf), [0, 51, 52, 93, 104]);
  assert.deepEqual(gaps, [{ step: 2, seconds: 4900 }]);
  assert.equal(spanPlaces([]).length, 0);
});

Deno.test("timeline: what each rank waits and sends, whatever their number", () => {
  const series = {
    "perf/idle_share/rank_10": [0.5, 0.5],
    "perf/idle_share/rank_2": [0.1, null],
    "perf/bytes_sent/rank_2": [10, 30],
    "perf/idle_share/rank_0": [null, null],
  };
  assert.deepEqual(rankShares({ steps: [1, 2], phases: ["generator", "verifier"], series }), [
    { rank: 0, idle: null, sent: null },
    { rank: 2, idle: 0.1, sent: 20 },
    { rank: 10, idle: 0.5, sent: null },
  ]);
  assert.deepEqual(
    rankMetrics([...Object.keys(series), "perf/idle_share", "perf/bytes_sent"]),
    Object.keys(series),
  );
});

Deno.test("configuration in force: a line for each key", () => {
  assert.deepEqual(flatten({ seed: 0, a: { b: { c: [1, 2] }, d: null } }), [
    ["seed", 0],
    ["a.b.c", [1, 2]],
    ["a.d", null],
  ]);
});

Deno.test("events: of a comparison's run its place among all is said, not the line's number", () => {
  const run = { method: "tango", seed: 3, path: "runs/c/tango-seed-3", place: 2, total: 6 };
  const line = { number: 17, time: "2026-01-01T00:00:00Z", type: "comparedRun", ...run } as const;
  assert.equal(eventWords(line), "run 2 of 6: tango, seed 3");
});
