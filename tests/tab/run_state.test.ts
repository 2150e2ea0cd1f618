import assert from "node:assert/strict";
import { after, NO_RUN, secondsLeft } from "../../src/tab/page/run_state.ts";
import type { ToldOfTraining as Told } from "../../src/tab/worker/messages.ts";

const all = (...messages: Told[]) => messages.reduce(after, NO_RUN);
const started: Told = { type: "started", step: 0, total: 4, lines: [] };
const measured = (step: number, seconds: number | null): Told => ({
  type: "measured",
  line: { step, phase: seconds === null ? "evaluation" : "generator" },
  seconds,
});

Deno.test("run state: from a start over steps to the end", () => {
  const state = all(started, measured(0, null), measured(1, 2), measured(2, 4), measured(3, 3));
  assert.equal(state.phase, "training");
  assert.equal(state.step, 3);
  assert.equal(state.lines.length, 4);
  assert.equal(secondsLeft(state), 3);
  assert.equal(all(started).phase, "training");
  assert.equal(secondsLeft(all(started)), null);
  assert.deepEqual(after(state, { type: "ended", reachedEnd: true }).phase, "ended");
});

Deno.test("run state: what is kept is asked once, and a run that begins forgets what was shown", () => {
  const kept = { preset: "chains", step: 1, total: 4, bytes: 9, saved: 0 };
  assert.equal(all({ type: "kept", run: null }).phase, "idle");
  assert.deepEqual(all({ type: "kept", run: kept }).kept, kept);
  const failed = all(started, measured(1, 1), { type: "failed", message: "words" });
  assert.equal(failed.failure, "words");
  assert.deepEqual(after(failed, { type: "starting" }), { ...NO_RUN, phase: "starting" });
});
