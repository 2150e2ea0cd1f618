import assert from "node:assert/strict";
import { armCurves, curvesOf } from "../../../src/server/page/charts/curves.ts";
import { armsOf } from "../../../src/server/page/comparison/arms.ts";
import type { RunView } from "../../../src/server/runs/run_view.ts";
import { listedRuns } from "../../../src/server/page/run/listed_runs.ts";

const run = (
  id: string,
  comparison: string | null = null,
  kind: RunView["kind"] = "train",
): RunView => ({
  ...{ id, kind, comparison, state: "finished", step: 1, totalSteps: 1, phase: null },
  ...{
    startedAt: null,
    endedAt: null,
    secondsLeft: null,
    folder: id,
    ranks: 1,
    error: null,
    tags: [],
    note: "",
  },
  memory: null,
  reason: null,
});

const ALL = { wanted: "", tag: "", state: "", sort: "" } as const;

Deno.test("runs listed: by words, tags, notes and states, and in another order", () => {
  const runs: RunView[] = [
    { ...run("b"), tags: ["own data"], step: 3 },
    { ...run("a"), note: "The best one.", step: 9, state: "failed" },
    { ...run("c"), tags: ["own data"], step: 5, state: "failed" },
  ];
  const ids = (looked: Partial<Parameters<typeof listedRuns>[2]>) =>
    listedRuns(runs, null, { ...ALL, ...looked }).map(({ id }) => id).join("");
  assert.equal(ids({}), "bac");
  assert.equal(ids({ wanted: "BEST" }), "a");
  assert.equal(ids({ tag: "own data" }), "bc");
  assert.equal(ids({ tag: "own data", state: "failed" }), "c");
  assert.equal(ids({ sort: "id" }), "abc");
  assert.equal(ids({ sort: "step" }), "acb");
});

Deno.test("runs listed: a comparison's own stand below it while it or one of them is open", () => {
  const runs = [
    run("last"),
    run("c:alone-seed-0", "c"),
    run("c:tango-seed-0", "c"),
    run("other", null, "compare"),
    run("other:tango-seed-0", "other"),
    run("c", null, "compare"),
  ];
  const ids = (shown: string | null, wanted = "") =>
    listedRuns(runs, shown, { ...ALL, wanted }).map(({ id }) => id);
  assert.deepEqual(ids("last"), ["last", "other", "c"]);
  const open = ["last", "other", "c", "c:tango-seed-0", "c:alone-seed-0"];
  assert.deepEqual(ids("c"), open);
  assert.deepEqual(ids("c:alone-seed-0"), open);
  assert.deepEqual(ids(null, "TANGO"), ["other:tango-seed-0", "c:tango-seed-0"]);
});

Deno.test("comparison's curves: a colour for each method, dashes for each seed, one line of a policy", () => {
  const runs = [3, 5].flatMap((seed) =>
    ["Tango", "GRPO"].map((method) => ({ id: `${method} ${seed}`, method, seed }))
  );
  const arms = armsOf(runs);
  assert.deepEqual(arms.get("GRPO 3"), { label: "GRPO, seed 3", colour: 1, dash: 0 });
  assert.deepEqual(arms.get("Tango 5"), { label: "Tango, seed 5", colour: 0, dash: 1 });
  const names = ["generator/reward", "verifier/reward", "verifier/precision", "verifier/recall"];
  const metricsOf = (policy: "generator" | "verifier") =>
    armCurves(curvesOf(names, ""), policy).map(({ lines }) => lines.map(({ metric }) => metric));
  assert.deepEqual(metricsOf("generator"), [["generator/reward"]]);
  assert.deepEqual(metricsOf("verifier"), [["verifier/reward"], ["verifier/precision"]]);
});
