/** Runs that are started and steered over HTTP: real processes, of a model so small that a step takes milliseconds. */

import assert from "node:assert/strict";
import { join } from "node:path";

import { stringify } from "yaml";
import { identify, isAlive } from "../../src/platform/process/process_identity.ts";
import { exists } from "../../src/platform/files/atomic_file.ts";
import { readControlFile } from "../../src/run/control/endpoint/control_file.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";

import { findMpiexec } from "../../src/cli/ranks/mpiexec.ts";
import type { RunView } from "../../src/server/runs/run_view.ts";
import { TwoAdapters } from "../platform/gpus/two_adapters.ts";
import { assertSameFiles } from "../run/killable_runs.ts";
import { configuration, ENDLESS, killAll, open, program, withServer } from "./client.ts";
import { breath, withFolder, WrittenRun } from "./written_run.ts";

/** Sets variables until it is disposed of. */
function withEnvironment(variables: Readonly<Record<string, string>>): Disposable {
  const before = Object.keys(variables).map((name) => [name, Deno.env.get(name)] as const);
  for (const [name, value] of Object.entries(variables)) Deno.env.set(name, value);
  return {
    [Symbol.dispose]() {
      for (const [name, value] of before) {
        if (value === undefined) Deno.env.delete(name);
        else Deno.env.set(name, value);
      }
    },
  };
}

/** The processes of other tests are none of these tests' leaks, and a child is let go on purpose. */
const lenient = { sanitizeOps: false, sanitizeResources: false } as const;

Deno.test({
  ...lenient,
  name: "steer: started, paused, edited, gone on with, stopped and resumed over HTTP",
  fn: () =>
    withServer(async (client, root) => {
      const { id, kind } = await client.start(ENDLESS);
      assert.deepEqual([id, kind], ["last-letter-generator-sft-001", "sft"]);
      await client.until(id, "starting", "running");
      await client.act(id, "pause");
      const paused = await client.until(id, "paused");
      assert.ok(paused.step >= 1 && paused.totalSteps === ENDLESS);
      assert.ok((paused.memory?.planned ?? 0) > 0);
      const alerts = async () => (await fetch(`${client.url}/metrics`)).text();
      while (!/^tango_memory_live_bytes\{.*\} [1-9]\d+$/m.test(await alerts())) await breath();
      assert.match(await alerts(), /^tango_memory_planned_bytes\{.*\} [1-9]\d+$/m);
      const path = `/api/runs/${id}/settings`;
      const wrong = await client.send("PATCH", path, { "optimizer.learning_rate": -1 });
      assert.deepEqual([wrong.status, wrong.answer.field], [422, "optimizer.learning_rate"]);
      const fixed = await client.send("PATCH", path, { seed: 3 });
      assert.deepEqual([fixed.status, fixed.answer.field], [422, "seed"]);
      const { answer: began } = await client.send("GET", `/api/runs/${id}/config`);
      assert.deepEqual(began.changes, []);
      // It says where the run's folder is, which a plan has nothing to do with.
      const { configuration } = began;
      const plan = await client.send("POST", "/api/plan", { kind: "sft", configuration });
      assert.equal(plan.status, 200, JSON.stringify(plan.answer));
      const changed = await client.send("PATCH", path, { "optimizer.learning_rate": 0.5 });
      assert.equal(changed.status, 200);
      for (const action of ["resume"]) {
        assert.equal((await client.send("POST", `/api/runs/${id}/${action}`)).status, 409);
      }
      assert.equal((await client.send("DELETE", `/api/runs/${id}`)).status, 409);
      await client.act(id, "go-on");
      await client.until(id, "running");
      const { answer: config } = await client.send("GET", `/api/runs/${id}/config`);
      assert.equal(config.changeable["optimizer.learning_rate"], 0.5);
      assert.deepEqual(config.changes, [
        {
          step: paused.step + 1,
          settings: { "optimizer.learning_rate": 0.5 },
          before: { "optimizer.learning_rate": began.configuration.optimizer.learning_rate },
        },
      ]);
      assert.equal(config.configuration.optimizer.learning_rate, 0.5);
      // What could not start anyway waits for nobody.
      const missing = {
        ...{ kind: "train", configuration: undefined, preset: "last-letter" },
        set: ["generator.model=weights/none"],
      };
      const unsound = await client.start(ENDLESS, missing);
      const { error } = await client.until(unsound.id, "failed");
      assert.match(error ?? "", /weights\/none/);
      assert.equal((await client.send("GET", `/api/runs/${id}`)).answer.state, "running");
      await client.act(id, "stop");
      const stopped = await client.until(id, "stopped");
      assert.ok(stopped.step > paused.step && stopped.endedAt !== null);
      for (const action of ["pause", "go-on", "checkpoint", "stop", "kill"]) {
        assert.equal((await client.send("POST", `/api/runs/${id}/${action}`)).status, 409, action);
      }
      assert.equal(
        (await client.send("PATCH", path, { "optimizer.learning_rate": 1 })).status,
        409,
      );
      await client.act(id, "resume");
      const again = await client.until(id, "running");
      assert.ok(again.step >= stopped.step);
      await client.act(id, "kill");
      await client.until(id, "killed");
      assert.equal((await client.send("DELETE", `/api/runs/${id}`)).status, 204);
      assert.equal((await client.send("GET", `/api/runs/${id}`)).status, 404);
      assert.ok(!exists(join(root, id)));
    }),
});

Deno.test({
  ...lenient,
  name: "steer: a run over HTTP leaves the bytes of the same command in a terminal",
  fn: () =>
    withServer(async (client, root) => {
      const { id } = await client.start(5, { set: ["schedule.test_frequency=2"], run: "asked" });
      assert.equal(id, "asked");
      await client.until(id, "finished");
      const file = join(root, "typed.yaml");
      Deno.writeTextFileSync(file, stringify(configuration));
      const options = ["--steps", "5", "--set", "schedule.test_frequency=2"];
      const { success } = await new Deno.Command(Deno.execPath(), {
        args: [
          "run",
          "-A",
          program,
          "sft",
          "--config",
          file,
          "--run",
          join(root, "typed"),
          ...options,
        ],
        stdout: "null",
        stderr: "null",
      }).output();
      assert.ok(success);
      assertSameFiles(join(root, "asked"), join(root, "typed"), [
        "metrics.jsonl",
        "generator/model.safetensors",
      ]);
    }),
});

Deno.test({
  ...lenient,
  name: "steer: what cannot be started is refused with the key that is to blame",
  fn: () =>
    withServer(async (client, root) => {
      const refused = async (body: object, status: number, field: string | undefined) => {
        const { status: found, answer } = await client.send("POST", "/api/runs", body);
        assert.deepEqual([found, answer.field], [status, field], JSON.stringify(answer));
        assert.doesNotMatch(answer.detail, /\.tango|-[0-9a-f]{12}/, "no path of the server's own");
      };
      const sft = { kind: "sft", configuration };
      await refused({}, 422, "kind");
      await refused({ ...sft, steps: -1 }, 422, "steps");
      await refused({ ...sft, speed: 1 }, 422, undefined);
      await refused({ ...sft, set: ["batch_size=none"] }, 422, "batch_size");
      await refused({ ...sft, configuration: { ...configuration, batch: 2 } }, 422, "batch");
      await refused({ ...sft, preset: "../secret" }, 422, "preset");
      await refused({ ...sft, run: "../out" }, 422, "run");
      await refused({ ...sft, run: ".tango" }, 422, "run");
      const elsewhere = { ...configuration, run_directory: "configs/run" };
      await refused({ ...sft, configuration: elsewhere }, 422, "run_directory");
      await refused({ ...sft, set: [`run_directory=${root}/one`] }, 422, "run_directory");
      await refused({ ...sft, ranks: 4, set: ["reduction.shards=2"] }, 422, undefined);
      await refused({ ...sft, set: ["initial_model=/etc"] }, 422, "initial_model");
      // What could be fetched or written there would be executed.
      const program = { kind: "train", set: ["rewards.module=weights/reward.ts"] };
      await refused(program, 422, "rewards.module");
      await refused({ ...program, set: [`rewards.module=${root}/a.ts`] }, 422, "rewards.module");
      await refused({ ...sft, set: ["output_directory=configs/../src"] }, 422, "output_directory");
      await refused(
        { kind: "compare", preset: "last-letter", set: ["verifier=null"] },
        422,
        undefined,
      );
      assert.equal((await client.send("POST", "/api/runs", "text")).status, 422);
      const { answer } = await client.send("GET", "/api/runs");
      assert.deepEqual(answer.runs, []);
      assert.deepEqual([...Deno.readDirSync(root)].map(({ name }) => name), [".tango"]);
    }),
});

Deno.test({
  ...lenient,
  name: "steer: a request that is sent twice starts one run; one whose process fails says why",
  fn: () =>
    withServer(async (client) => {
      const key = { "idempotency-key": "once" };
      // A model that is not there passes for a configuration.
      const set = ["initial_model=configs/nowhere"];
      const body = { kind: "sft", configuration, set };
      const first = await client.send("POST", "/api/runs", body, key);
      const second = await client.send("POST", "/api/runs", body, key);
      assert.deepEqual([first.status, second.status], [202, 202]);
      assert.equal(second.answer.id, first.answer.id);
      const other = await client.send("POST", "/api/runs", { ...body, steps: 3 }, key);
      assert.deepEqual([other.status, other.answer.field], [409, "idempotency-key"]);
      const { answer } = await client.send("GET", "/api/runs");
      assert.equal(answer.runs.length, 1);
      const { error, reason } = await client.until(first.answer.id, "failed");
      assert.match(error ?? "", /configs\/nowhere/);
      assert.equal(reason, null);
      // Of one that takes too much the code says so, though it has no folder yet in which it could.
      const large = await client.start(1, { set: ["memory_limit_gb=0.000001"] });
      assert.equal((await client.until(large.id, "failed")).reason?.code, "out-of-memory");
    }),
});

Deno.test({
  ...lenient,
  name: "steer: a run that does not fit beside another waits for it, and can leave the queue",
  fn: () =>
    withServer(async (client) => {
      const { answer: plan } = await client.send("POST", "/api/plan", {
        kind: "sft",
        configuration,
      });
      assert.ok(plan.peakBytes > 0 && plan.phases.length > 0);
      // Room for one and a half.
      const set = [`memory_limit_gb=${1.5 * plan.peakBytes / 1e9}`];
      const first = await client.start(ENDLESS, { set });
      await client.until(first.id, "running");
      const second = await client.start(ENDLESS, { set });
      const third = await client.start(ENDLESS, { set });
      await client.act(second.id, "stop");
      await client.until(second.id, "killed");
      const waiting = async () => (await client.send("GET", `/api/runs/${third.id}`)).answer;
      while ((await waiting()).memory === null) assert.equal((await waiting()).state, "waiting");
      assert.equal((await waiting()).state, "waiting");
      for (const action of ["pause", "go-on", "checkpoint"]) {
        const early = await client.send("POST", `/api/runs/${third.id}/${action}`);
        assert.equal(early.status, 409);
        assert.match(early.answer.detail, /waits in the queue/);
      }
      await client.act(first.id, "stop");
      const { step } = await client.until(first.id, "stopped");
      await client.until(third.id, "running");
      // One that waits to be gone on with keeps what it has.
      await client.act(first.id, "resume");
      const remove = (id: string) => client.send("DELETE", `/api/runs/${id}`);
      const { status, answer: problem } = await remove(first.id);
      assert.equal(status, 409, "it is there to be gone on with");
      assert.match(problem.detail, /stop it first/);
      await client.act(first.id, "stop");
      assert.equal((await client.until(first.id, "stopped")).step, step);
      const fourth = await client.start(ENDLESS, { set });
      assert.equal((await remove(fourth.id)).status, 204, "it never began");
      assert.equal((await client.send("GET", `/api/runs/${fourth.id}`)).status, 404);
    }),
});

Deno.test({
  ...lenient,
  name: "steer: a run waits for one that was started in a terminal too",
  fn: () =>
    withServer(async (client, root) => {
      const file = join(root, "typed.yaml");
      Deno.writeTextFileSync(file, stringify(configuration));
      const options = ["--steps", String(ENDLESS), "--run", join(root, "typed")];
      const typed = new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", program, "sft", "--config", file, ...options],
        stdout: "null",
        stderr: "null",
      }).spawn();
      const view = async (id: string) => (await client.send("GET", `/api/runs/${id}`)).answer;
      while ((await view("typed")).memory?.live == null) await breath();
      const { planned } = (await view("typed")).memory;
      const set = [`memory_limit_gb=${1.5 * planned / 1e9}`];
      const { id } = await client.start(ENDLESS, { set });
      while ((await view(id)).memory === null) assert.equal((await view(id)).state, "waiting");
      assert.equal((await view(id)).state, "waiting");
      await client.act("typed", "stop");
      await client.until(id, "running");
      await typed.status;
    }),
});

Deno.test({
  ...lenient,
  name: "steer: of two GPUs each run takes one with room",
  fn: async () => {
    using adapters = TwoAdapters.make();
    if (adapters === null) return console.log("there is no software driver to make two of");
    using _both = withEnvironment(adapters.environment);
    await withServer(async (client, root) => {
      const request = { kind: "sft", configuration };
      const { answer: plan } = await client.send("POST", "/api/plan", request);
      const set = [`memory_limit_gb=${1.5 * plan.peakBytes / 1e9}`];
      const refused = { ...request, ranks: 2, gpuIndex: 1, set: ["reduction.shards=2"] };
      assert.equal((await client.send("POST", "/api/runs", refused)).answer.field, "gpuIndex");
      const first = await client.start(ENDLESS, { set, gpuIndex: 1 });
      await client.until(first.id, "running");
      const second = await client.start(ENDLESS, { set });
      await client.until(second.id, "running");
      // What each run says of the GPU that it has opened.
      const output = ({ id }: RunView) => Deno.readTextFileSync(join(root, ".tango", `${id}.log`));
      assert.match(output(first), /\(MVLL /);
      assert.match(output(second), /\(LLVM /);
      const third = await client.start(ENDLESS, { set });
      const waiting = async () => (await client.send("GET", `/api/runs/${third.id}`)).answer;
      while ((await waiting()).memory === null) assert.equal((await waiting()).state, "waiting");
      await client.act(first.id, "stop");
      await client.until(third.id, "running");
      assert.match(output(third), /\(MVLL /);
    });
  },
});

Deno.test({
  ...lenient,
  name: "steer: a server that is started again finds its runs, those that ended too",
  fn: () =>
    withFolder(async (root) => {
      let { server, client } = open(root);
      const { id } = await client.start(ENDLESS);
      await client.until(id, "running");
      await server[Symbol.asyncDispose]();
      const { process } = readControlFile(RunFolder.at(join(root, id))) ??
        assert.fail("no process");
      assert.ok(isAlive(process), "it outlives the server");
      ({ server, client } = open(root));
      await client.until(id, "running");
      await client.act(id, "pause");
      await client.until(id, "paused");
      await server[Symbol.asyncDispose]();
      // It dies unseen.
      Deno.kill(process.pid, "SIGKILL");
      ({ server, client } = open(root));
      const { error } = await client.until(id, "lost");
      assert.match(error ?? "", /without a last word/);
      await client.act(id, "resume");
      await client.until(id, "running");
      await killAll(client);
      await server[Symbol.asyncDispose]();
    }),
});

Deno.test({
  ...lenient,
  name:
    "steer: a run that is killed from outside is lost, by which signal, and goes on when resumed",
  fn: () =>
    withServer(async (client, root) => {
      const { id } = await client.start(ENDLESS);
      await client.until(id, "running");
      const { process } = readControlFile(RunFolder.at(join(root, id))) ??
        assert.fail("no process");
      Deno.kill(process.pid, "SIGKILL");
      const { error } = await client.until(id, "lost");
      assert.match(error ?? "", /^Its process was ended by SIGKILL .*: resume [^\n]*$/);
      await client.act(id, "resume");
      await client.until(id, "running");
    }),
});

Deno.test({
  ...lenient,
  name: "steer: of a run on several ranks whose one rank is killed, that is the error",
  fn: async () => {
    if (await findMpiexec() === null) return console.log("there is no MPI");
    await withServer(async (client, root) => {
      const { id } = await client.start(ENDLESS, { ranks: 2, set: ["reduction.shards=2"] });
      await client.until(id, "running");
      const { process } = readControlFile(RunFolder.at(join(root, id))) ??
        assert.fail("no process");
      Deno.kill(process.pid, "SIGKILL");
      const { error } = await client.until(id, "failed");
      assert.match(error ?? "", /^The run has ended on all ranks because of rank 0 /);
    });
  },
});

Deno.test({
  ...lenient,
  name: "steer: a run that was just gone on with in a terminal is not removed",
  fn: () =>
    withServer(async (client, root) => {
      const { folder } = new WrittenRun(root, "one");
      const path = "/api/runs/one";
      while ((await client.send("GET", path)).status !== 200);
      const stands = new Deno.Command("sleep", { args: ["1000"] }).spawn();
      const control = { process: identify(stands.pid), socket: "nowhere" };
      Deno.writeTextFileSync(folder.control, JSON.stringify(control));
      assert.equal((await client.send("DELETE", path)).status, 409);
      assert.ok(exists(folder.configuration));
      stands.kill();
      await stands.status;
      assert.equal((await client.send("DELETE", path)).status, 204);
      assert.ok(!exists(folder.path));
    }),
});
