import assert from "node:assert/strict";
import type { RunEvent } from "../../../src/run/events/run_event.ts";
import { RunActivity } from "../../../src/run/trace/run_activity.ts";

/** What comes of events, each heard at a moment. */
function spansOf(heard: readonly (readonly [number, RunEvent])[]) {
  let time = 0;
  const activity = new RunActivity(() => time);
  return heard.flatMap(([at, event]) => {
    time = at;
    return activity.hear(event);
  });
}

const began = (phase: "rollout" | "update" | "forward_backward" | "evaluation", step = 7) =>
  ({ type: "phaseBegan", phase, step }) as const;
const ended = (phase: "rollout" | "update" | "forward_backward" | "evaluation", step = 7) =>
  ({ type: "phaseEnded", phase, step, seconds: 0 }) as const;

Deno.test("activity: phases lie within one another and within their step", () => {
  const timings = { "perf/tokens_per_second": 5 };
  const spans = spansOf([
    [100, { type: "started", step: 6, total: 9, ranks: 1 }],
    [110, began("evaluation", 6)],
    [130, ended("evaluation", 6)],
    [140, began("rollout")],
    [150, ended("rollout")],
    [160, began("update")],
    [161, began("forward_backward")],
    [168, ended("forward_backward")],
    [170, ended("update")],
    [175, { type: "step", step: 7, phase: "verifier", metrics: {}, timings }],
    [200, { type: "paused", step: 7 }],
    [240, { type: "continued", step: 7 }],
  ]);
  assert.deepEqual(
    spans.map((span) => ({ ...span, track: undefined })),
    [
      { name: "evaluation", begin: 110, end: 130, phaseOf: 6, facts: { step: 6 } },
      { name: "rollout", begin: 140, end: 150, phaseOf: 7, facts: { step: 7 } },
      { name: "forward-backward", begin: 161, end: 168, phaseOf: 7, facts: { step: 7 } },
      { name: "update", begin: 160, end: 170, phaseOf: 7, facts: { step: 7 } },
      { name: "verifier step", begin: 140, end: 175, facts: { step: 7, ...timings } },
      { name: "paused", begin: 200, end: 240 },
    ].map((span) => ({ ...span, track: undefined })),
  );
});

Deno.test("activity: what was under way when a run failed is shown, with the error", () => {
  const spans = spansOf([
    [10, began("update")],
    [11, began("forward_backward")],
    [15, { type: "failed", step: 6, error: new Error("the GPU was lost") }],
  ]);
  assert.deepEqual(spans, [
    { track: "run", name: "forward-backward", begin: 11, end: 15, phaseOf: 7, facts: { step: 7 } },
    { track: "run", name: "update", begin: 10, end: 15, phaseOf: 7, facts: { step: 7 } },
    { track: "run", name: "failed", begin: 15, facts: { message: "the GPU was lost" } },
  ]);
});
