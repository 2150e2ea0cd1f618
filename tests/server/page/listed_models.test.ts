import assert from "node:assert/strict";
import {
  askedName,
  type ListedModel,
  wantedModels,
  withServed,
} from "../../../src/server/page/models/listed_models.ts";

const MODEL: ListedModel = {
  ...{ name: "weights/one", path: "weights/one", kind: "model", bytes: 1, parameters: 1 },
  ...{ base: null, hasChat: true, run: null, step: null, policy: null, files: [] },
  ...{ problem: null, served: null, isOwn: false },
};

Deno.test("page's models: one that is served is asked by that name, also where it lies elsewhere; a broken one is not", () => {
  const served = { ...MODEL, served: "mine" };
  const all = withServed([served], [
    { id: "mine", root: "weights/one", parent: null },
    { id: "other", root: "/elsewhere/other.gguf", parent: null },
  ]);
  assert.deepEqual(all.map((one) => [askedName(one), one.kind]), [
    ["other", "gguf"],
    ["mine", "model"],
  ]);
  assert.equal(askedName({ ...served, problem: "Its base is gone." }), null);
});

Deno.test("page's models: all words are looked for, in names, runs and bases", () => {
  const checkpoint = { ...MODEL, kind: "checkpoint" as const, name: "a/generator@3", run: "a" };
  const all = [MODEL, checkpoint];
  assert.deepEqual(wantedModels(all, "", "GENERATOR @3"), [checkpoint]);
  assert.deepEqual(wantedModels(all, "model", ""), [MODEL]);
  assert.deepEqual(wantedModels(all, "", "null"), []);
});
