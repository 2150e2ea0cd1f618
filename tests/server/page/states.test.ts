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

Deno.test("page's states: after a failure there is what to do, from what the run said", () => {
  const failed = (error: string, step = 3) => ({ ...run("failed", step, step && 9), error });
  const memory = "The GPU has no memory left. End what else runs on the GPU and go on with this " +
    "run, or begin a run that takes less, such as with rollout.decode_slots=128, gpu=dawn.";
  assert.deepEqual(adviceOn(failed(memory))?.change, { "rollout.decode_slots": 128, gpu: "dawn" });
  const plan = "This run takes up to 9.1 GB. It fits, with 3.2 GB, with: " +
    "--set loss.micro_batch_tokens=512 --set rollout.batch_size=4";
  assert.deepEqual(adviceOn(failed(plan, 0))?.change, {
    "loss.micro_batch_tokens": 512,
    "rollout.batch_size": 4,
  });
  const diverged =
    "Step 9 ends the run: its update was skipped because the verifier's gradient is " +
    "not finite, 3 in a row by now.";
  assert.equal(adviceOn(failed(diverged))?.lowered, "verifier.optimizer.learning_rate");
  assert.equal(
    adviceOn({ ...failed(diverged), kind: "sft" })?.lowered,
    "optimizer.learning_rate",
  );
  assert.match(adviceOn(failed("No such file.", 0))?.text ?? "", /nothing is lost/);
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
