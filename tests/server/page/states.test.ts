import assert from "node:assert/strict";
import type { RunView } from "../../../src/server/runs/run_view.ts";
import { actionsOf, hasBegun, isLive } from "../../../src/server/page/run/states.ts";

const run = (state: RunView["state"], step: number, totalSteps: number): RunView => ({
  ...{ id: "one", kind: "train", state, step, totalSteps, phase: null, comparison: null },
  ...{
    startedAt: null,
    endedAt: null,
    secondsLeft: null,
    folder: "runs/one",
    ranks: 1,
    tags: [],
    note: "",
  },
  ...{ error: null, memory: null },
});

Deno.test("page's states: what never began has nothing to show and cannot be gone on with", () => {
  for (const state of ["failed", "killed", "lost"] as const) {
    assert.deepEqual([hasBegun(run(state, 0, 0)), actionsOf(run(state, 0, 0))], [false, [
      "delete",
    ]]);
    assert.deepEqual([hasBegun(run(state, 0, 9)), actionsOf(run(state, 3, 9))], [
      true,
      ["resume", "delete"],
    ]);
  }
  // One that is gone on with shows what it has while it waits; runs of old have told no steps.
  assert(!hasBegun(run("waiting", 0, 0)) && hasBegun(run("waiting", 3, 9)));
  assert(!hasBegun(run("starting", 0, 0)) && hasBegun(run("stopped", 0, 0)));
});

Deno.test("page's states: a waiting run leaves the queue, and only what lives can be killed", () => {
  assert.deepEqual(actionsOf(run("waiting", 0, 0)), ["leave"]);
  assert(!isLive("waiting") && !isLive("lost") && isLive("stopping") && isLive("paused"));
  assert(actionsOf(run("paused", 1, 9)).includes("go-on"));
  assert(!actionsOf(run("finished", 9, 9)).includes("resume"));
});
