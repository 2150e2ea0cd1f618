/**
 * Runs of the command line, steered from another process: one that was paused, edited, gone on with, stopped and
 * resumed leaves the bytes of one in which the same settings changed at the same step and nothing else happened.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { INTERRUPTED_EXIT_CODE } from "../../src/cli/interrupt.ts";
import { findMpiexec } from "../../src/cli/ranks/mpiexec.ts";
import { exists } from "../../src/platform/files/atomic_file.ts";
import { Gpu } from "../../src/gpu/gpu.ts";
import { loadTangoConfig } from "../../src/run/config/load_config.ts";
import { askRun } from "../../src/run/control/endpoint/ask_run.ts";
import { liveProcess } from "../../src/run/control/endpoint/control_file.ts";
import type { ControlRequest } from "../../src/run/control/endpoint/control_request.ts";
import type { PauseEvent } from "../../src/run/events/run_event.ts";
import { RunControl } from "../../src/run/control/run_control.ts";
import { RunEvents } from "../../src/run/events/run_events.ts";
import { trainWithReport } from "../../src/run/session/training_session.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";
import { assertSameFiles } from "./killable_runs.ts";
import { withTinyProject } from "./tiny_project.ts";
import { toldOf, until } from "./told.ts";

const root = join(import.meta.dirname ?? "", "..", "..");

function tango(...options: string[]): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "src/cli/main.ts", ...options],
    cwd: root,
    stdout: "null",
    stderr: "null",
  }).spawn();
}

/** Asks the run in a folder, as soon as there is one, for something that it grants. */
async function ask(run: string, request: ControlRequest): Promise<void> {
  const found = await until(() => liveProcess(RunFolder.at(run)));
  const answer = await askRun(found, request, new AbortController().signal);
  assert.ok(answer?.ok, JSON.stringify(answer));
}

/** Waits until the run has told so many events of a type. @returns the step of the last */
async function stepOf(run: string, type: PauseEvent["type"], count: number): Promise<number> {
  const pauses = () => toldOf(run).flatMap((line) => line.type === type ? [line] : []);
  const { step } = await until(() => pauses()[count - 1]);
  return step;
}

/** Lets a run wait after a step that the moment decides, again after another, and stops it there. */
async function steer(run: string, settings: Record<string, number | string>): Promise<number> {
  await ask(run, { request: "pause" });
  const step = await stepOf(run, "paused", 1);
  await ask(run, { request: "change", settings });
  await ask(run, { request: "checkpoint" });
  await ask(run, { request: "goOn" });
  await stepOf(run, "continued", 1);
  await ask(run, { request: "pause" });
  await stepOf(run, "paused", 2);
  await ask(run, { request: "stop" });
  return step;
}

const settings = { "generator.optimizer.learning_rate": 0.02, "rollout.temperature": 0.5 };
/** So many that the run is asked before it is done: each takes several turns of the event loop. */
const steps = 40;

Deno.test({
  name: "steered run: paused, edited, gone on, stopped and resumed, it repeats itself",
  // The GPU outlives its closing by a few timers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    const gpu = await Gpu.open("auto");
    await withTinyProject(gpu, async ({ folder, config: file }) => {
      const run = join(folder, "steered");
      const set = ["schedule.save_frequency=0", "schedule.test_frequency=4"];
      const child = tango(
        ...["train", "--config", file, "--run", run, "--steps", String(steps)],
        ...set.flatMap((one) => ["--set", one]),
      );
      const changedAfter = await steer(run, settings);
      assert.equal((await child.status).code, INTERRUPTED_EXIT_CODE);
      assert.ok(!exists(RunFolder.at(run).control));
      const resumed = tango("train", "--resume", "--run", run);
      assert.equal((await resumed.status).code, 0);

      const lines = toldOf(run);
      assert.deepEqual(lines.map(({ number }) => number), lines.map((_, index) => index + 1));
      const told = lines.filter(({ type }) =>
        ["started", "changed", "paused", "continued", "checkpoint", "finished"].includes(type)
      );
      const stoppedAfter = told.findLast(({ type }) => type === "paused");
      assert.ok(stoppedAfter?.type === "paused" && stoppedAfter.step > changedAfter);
      const withoutDevice = (line: object) =>
        Object.fromEntries(Object.entries(line).filter(([key]) => key !== "device"));
      assert.deepEqual(told.map(({ number: _, time: __, ...line }) => withoutDevice(line)), [
        { type: "started", step: 0, total: steps, ranks: 1 },
        { type: "paused", step: changedAfter },
        checkpoint(run, changedAfter),
        { type: "continued", step: changedAfter },
        { type: "changed", step: changedAfter + 1, settings },
        { type: "paused", step: stoppedAfter.step },
        checkpoint(run, stoppedAfter.step),
        { type: "continued", step: stoppedAfter.step },
        { type: "finished", step: stoppedAfter.step, reachedEnd: false },
        { type: "started", step: stoppedAfter.step, total: steps, ranks: 1 },
        checkpoint(run, steps),
        { type: "finished", step: steps, reachedEnd: true },
      ]);

      const control = new RunControl();
      const events = new RunEvents();
      events.listen((event) => {
        if (event.type === "step" && event.step === changedAfter) control.change(settings);
      });
      const whole = join(folder, "whole");
      const config = loadTangoConfig(file, { set, steps });
      assert.ok(await trainWithReport(gpu, config, whole, { resume: false, events, control }));
      assertSameFiles(run, whole, [
        ...["metrics.jsonl", "samples.jsonl", "config-history.jsonl"],
        ...["generator/model.safetensors", "verifier/model.safetensors"],
      ]);
    });
    gpu.close();
  },
});

function checkpoint(run: string, step: number): object {
  const path = join(run, "checkpoints", `step-${String(step).padStart(6, "0")}`);
  return { type: "checkpoint", step, path };
}

Deno.test({
  name: "steered run: fine-tuning, a comparison and a run of two ranks hear what they are asked",
  // The GPU outlives its closing by a few timers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async (test) => {
    const gpu = await Gpu.open("auto");
    await withTinyProject(gpu, async ({ folder, config, sftConfig }) => {
      const stopped = async (name: string, options: readonly string[]) => {
        const run = join(folder, name);
        const child = tango(...options, "--run", run, "--steps", "100");
        await ask(run, { request: "stop" });
        assert.equal((await child.status).code, INTERRUPTED_EXIT_CODE);
        assert.ok(!exists(RunFolder.at(run).control));
        return toldOf(run);
      };
      await test.step("sft", async () => {
        const lines = await stopped("sft", ["sft", "--config", sftConfig]);
        const finished = lines.at(-1) ?? assert.fail("it told nothing");
        assert.ok(finished.type === "finished" && !finished.reachedEnd && finished.step < 100);
      });
      await test.step("compare", async () => {
        const lines = await stopped("compare", ["compare", "--config", config]);
        const told = lines.map(({ type }) => type);
        assert.deepEqual(lines.map(({ number }) => number), lines.map((_, index) => index + 1));
        assert.deepEqual(told.slice(0, 2), ["comparedRun", "started"]);
        assert.deepEqual(told.slice(-2), ["finished", "comparisonEnded"]);
        // What one of its runs tells lies in that run's folder too.
        const first = toldOf(join(folder, "compare", "tango-seed-0"));
        const types = first.map(({ type }) => type);
        assert.deepEqual(types, told.slice(1, -1));
      });
      if ((await findMpiexec()) === null) return;
      await test.step("two ranks", async () => {
        const shards = ["--ranks", "2", "--set", "reduction.shards=2"];
        const lines = await stopped("ranks", ["train", "--config", config, ...shards]);
        const finished = lines.at(-1) ?? assert.fail("it told nothing");
        assert.ok(finished.type === "finished" && !finished.reachedEnd && finished.step < 100);
        assert.equal(lines.filter(({ type }) => type === "started").length, 1, "of one rank alone");
      });
    });
    gpu.close();
  },
});
