import assert from "node:assert/strict";
import type { RunView } from "../../../src/server/runs/run_view.ts";
import { newlyEnded } from "../../../src/server/page/live/newly_ended.ts";
import { adviceOn } from "../../../src/server/page/run/what_to_do.ts";
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
  ...{ error: null, reason: null, memory: null },
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

Deno.test("page's states: after a failure there is what to do, by the code of what was thrown and not by its words", () => {
  const failed = (reason: RunView["reason"], step = 3) => ({
    ...run("failed", step, step && 9),
    ...{ error: "in whatever words", reason },
  });
  const settings = { "rollout.decode_slots": "128", gpu: "dawn" };
  const short = { code: "out-of-memory", settings } as const;
  for (const step of [0, 3]) {
    assert.deepEqual(adviceOn(failed(short, step))?.change, {
      "rollout.decode_slots": 128,
      gpu: "dawn",
    });
  }
  const none = adviceOn(failed({ ...short, settings: {} }));
  assert.deepEqual([none?.change, none?.text.includes("smaller model")], [null, true]);
  const diverged = { code: "diverged", learningRate: "verifier.optimizer.learning_rate" } as const;
  assert.equal(adviceOn(failed(diverged))?.lowered, diverged.learningRate);
  assert.equal(adviceOn({ ...failed(diverged), kind: "compare" }), null);
  assert.match(adviceOn(failed(null, 0))?.text ?? "", /nothing is lost/);
  // Words alone, of whatever they are, lead to no button.
  const words = {
    ...failed(null),
    error: "the verifier's gradient is not finite. It fits, with a=1",
  };
  assert.equal(adviceOn(words), null);
  assert.equal(adviceOn(run("finished", 9, 9)), null);
});

Deno.test("page's states: a run is told of once when it ends, and not one that was over before", () => {
  const one = (state: RunView["state"]) => [run(state, 3, 9)];
  assert.deepEqual(newlyEnded(one("running"), one("finished")).length, 1);
  assert.deepEqual(newlyEnded(one("stopping"), one("stopped")).length, 1);
  assert.deepEqual(newlyEnded([], one("finished")), []);
  assert.deepEqual(newlyEnded(one("failed"), one("failed")), []);
  const inner = one("running").map((run) => ({ ...run, comparison: "c" }));
  assert.deepEqual(newlyEnded(inner, inner.map((run) => ({ ...run, state: "finished" }))), []);
});
