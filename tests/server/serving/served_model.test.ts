/** A model's process, and who asks it, over a process without a GPU. */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { RequestProblem } from "../../../src/server/http/problem.ts";
import type { ServedSource } from "../../../src/server/serving/messages.ts";
import { ServedModel } from "../../../src/server/serving/served_model.ts";
import { ServedModels } from "../../../src/server/serving/served_models.ts";
import { TINY } from "../openai/with_models.ts";
import { BREAKS } from "./stub_process.ts";
import { requestFor } from "./stubs.ts";

const PROCESS = fileURLToPath(import.meta.resolve("./stub_process.ts"));
const OPTIONS = { slots: 2, cacheTokens: 64, microBatchTokens: 64 };
const SOURCE: ServedSource = { ...OPTIONS, model: TINY, run: null };
const client = "somebody";

const isClosed = (error: unknown) => error instanceof RequestProblem && error.status === 503;
const isAlive = (pid: number) => {
  try {
    Deno.kill(pid, "SIGCONT");
    return true;
  } catch {
    return false;
  }
};

Deno.test("a listener that fails gives up its own response, and the process goes on for all others", async () => {
  await using model = new ServedModel(SOURCE, PROCESS);
  await model.open();
  const { pid } = model;
  const onTokens = () => {
    throw new Error("whoever listens");
  };
  const failed = model.sample({ request: requestFor(500), client, onTokens });
  const other = model.sample({ request: requestFor(5), client });
  await assert.rejects(failed, /whoever listens/);
  assert.equal((await other).tokens.length, 5);
  assert.equal((await model.sample({ request: requestFor(3), client })).tokens.length, 3);
  assert.equal(model.pending, 0);
  assert.equal(model.pid, pid);
});

Deno.test("a process whose pipe breaks is ended, those who wait are told, and the next request has another", async () => {
  await using model = new ServedModel(SOURCE, PROCESS);
  const waiting = model.sample({ request: requestFor(900), client });
  await model.open();
  const { pid } = model;
  const broken = model.sample({ request: requestFor(1), adapter: BREAKS, client });
  await Promise.all([assert.rejects(waiting, isClosed), assert.rejects(broken, isClosed)]);
  assert.ok(pid !== null && !isAlive(pid));
  assert.equal((await model.sample({ request: requestFor(2), client })).tokens.length, 2);
});

Deno.test("a model that was closed is opened by nobody again", async () => {
  const model = new ServedModel(SOURCE, PROCESS);
  await model.open();
  await model[Symbol.asyncDispose]();
  await assert.rejects(model.open(), isClosed);
  await assert.rejects(model.sample({ request: requestFor(1), client }), isClosed);
  await assert.rejects(model.call<"drop">({ kind: "drop", adapter: "one" }), isClosed);
  assert.equal(model.pid, null);
  assert.equal(model.pending, 0);
});

/** Models in such processes, and all that were made. */
function stubModels() {
  const made: ServedModel[] = [];
  const models = new ServedModels(OPTIONS, (source) => {
    const model = new ServedModel(source, PROCESS);
    made.push(model);
    return model;
  });
  return { models, made };
}
const run = { folder: "runs/one", policy: "generator" as const, checkpoint: "none" };

Deno.test("a model that is being opened while all are closed is closed, too", async () => {
  const { models, made } = stubModels();
  const opening = models.open("tiny", TINY);
  const refused = assert.rejects(opening);
  while (made.length === 0) await new Promise((resolve) => setTimeout(resolve));
  await models[Symbol.asyncDispose]();
  await refused;
  await assert.rejects(models.open("other", TINY), isClosed);
  assert.deepEqual(made.map(({ pid }) => pid), [null]);
});

Deno.test("policies of runs that were opened just now answer, whoever else wants their room", async () => {
  const { models, made } = stubModels();
  const ask = async (name: string) => {
    const { model } = await models.openPolicy(name, TINY, run, {});
    return (await model.sample({ request: requestFor(200), client })).tokens.length;
  };
  const answers = await Promise.allSettled(["a", "b", "c"].map(ask));
  for (const { status, ...answer } of answers.slice(0, 2)) {
    assert.deepEqual([status, answer], ["fulfilled", { value: 200 }]);
  }
  // The third has had its room, or was told to come again.
  const [, , third] = answers;
  if (third.status === "rejected") assert.ok(isClosed(third.reason), String(third.reason));
  assert.equal(await ask("c"), 200);
  assert.ok(made.filter(({ pid }) => pid !== null).length <= 2);
  await models[Symbol.asyncDispose]();
  assert.ok(made.every(({ pid }) => pid === null));
});

Deno.test("a policy that cannot be opened takes nobody's room", async () => {
  const { models } = stubModels();
  await using _all = models;
  const none = models.openPolicy("none", `${TINY}/none`, run, {});
  const [missing, ...others] = await Promise.allSettled([
    none,
    ...["a", "b"].map((name) => models.openPolicy(name, TINY, run, {})),
  ]);
  assert.equal(missing.status, "rejected");
  assert.deepEqual(others.map(({ status }) => status), ["fulfilled", "fulfilled"]);
});
