import assert from "node:assert/strict";
import { join } from "node:path";
import { loadTangoConfig } from "../../../src/run/config/load_config.ts";
import { RunEvents } from "../../../src/run/events/run_events.ts";
import { trainWithReport } from "../../../src/run/session/training_session.ts";
import { withTrace } from "../../../src/run/trace/run_trace.ts";
import { TraceFile } from "../../../src/run/trace/trace_file.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { withTinyProject } from "../tiny_project.ts";

/** An event of the file, as its format has it. */
interface Written {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  readonly ts: number;
  readonly dur: number;
  readonly args: Record<string, unknown>;
}

const spansOf = (text: string) =>
  (JSON.parse(text) as Written[]).filter(({ ph }) => ph === "X").sort((a, b) => a.ts - b.ts);

onEveryGpu("trace: a run's timeline has its steps and their phases", async (gpu) => {
  await withTinyProject(gpu, async (project) => {
    const config = loadTangoConfig(project.config, { steps: 2 });
    const path = join(project.folder, "trace.json");
    const events = new RunEvents();
    const unfinished: string[] = [];
    events.listen(({ type }) => {
      // Heard before the trace hears it: what is on the disk then is what a kill would leave.
      if (type === "step") unfinished.push(Deno.readTextFileSync(path));
    });
    const folder = join(project.folder, "run");
    await withTrace(
      gpu,
      events,
      { path, kernelsOf: { first: 2, last: 2 } },
      () => trainWithReport(gpu, config, folder, { resume: false, events }),
    );
    const all = spansOf(Deno.readTextFileSync(path));
    const spans = all.filter(({ tid }) => tid === 0);
    const kernels = all.filter(({ tid }) => tid === 1);
    const within = (outer: Written) =>
      spans.filter((one) => one !== outer && one.ts >= outer.ts && one.ts < outer.ts + outer.dur);
    const steps = spans.filter(({ name }) => name.endsWith(" step"));
    assert.deepEqual(steps.map(({ name, args }) => [name, args.step]), [
      ["generator step", 1],
      ["verifier step", 2],
    ]);
    const phases = ["rollout", "verification", "update", "forward-backward", "optimizer"];
    for (const step of steps) {
      assert.deepEqual(within(step).map(({ name }) => name), phases);
      for (const one of within(step)) {
        // Times are rounded to nanoseconds, each end by itself.
        assert.ok(one.ts + one.dur <= step.ts + step.dur + 0.002, `${one.name} ends in its step`);
        assert.equal(one.args.step, step.args.step);
      }
    }
    // Launches: all of the second step, none of the first.
    const [, second] = steps;
    assert.ok(kernels.some(({ name }) => name === "adamw"));
    for (const { name, ts, dur } of kernels) {
      assert.ok(dur >= 0);
      const isWithin = ts >= second.ts && ts + dur <= second.ts + second.dur + 0.002;
      assert.ok(isWithin, `${name} ran in the second step`);
    }
    const others = spans.filter(({ name }) => !phases.includes(name) && !name.endsWith(" step"));
    assert.deepEqual(others.map(({ name }) => name), [
      "evaluation",
      "checkpoint",
      "evaluation",
      "checkpoint",
    ]);
    // A timeline that was cut off lacks the end of the array and nothing else.
    const [before, after] = unfinished.map((text) => spansOf(`${text}]`).map(({ name }) => name));
    assert.deepEqual(before, ["evaluation", ...phases]);
    assert.equal(
      after.length,
      before.length + 2 + phases.length,
      "the step and its checkpoint too",
    );
  });
});

Deno.test("trace: a file that cannot be written is named", () => {
  const path = join(Deno.makeTempDirSync(), "nowhere", "trace.json");
  assert.throws(() => new TraceFile(path, 0), (error: Error) => error.message.includes(path));
});

Deno.test("trace: times are microseconds from the beginning, and every rank has a name", () => {
  const path = join(Deno.makeTempDirSync(), "trace.json");
  {
    using file = new TraceFile(path, 1000);
    file.nameRank(3, "rank 3");
    file.add(3, [
      { track: "kernels", name: "gemm", begin: 1001.5, end: 1001.75 },
      { track: "run", name: "warning", begin: 1002, facts: { message: "what" } },
    ]);
  }
  const written = JSON.parse(Deno.readTextFileSync(path)) as Written[];
  const names = written.filter(({ name }) => name === "process_name");
  assert.deepEqual(names.map(({ pid, args }) => [pid, args.name]), [[3, "rank 3"]]);
  const rows = written.filter(({ name }) => name === "thread_name");
  const row = (name: string) => rows.find(({ args }) => args.name === name)?.tid;
  assert.deepEqual(written.slice(-2), [
    { name: "gemm", pid: 3, tid: row("kernels"), ts: 1500, ph: "X", dur: 250 },
    {
      name: "warning",
      pid: 3,
      tid: row("run"),
      ts: 2000,
      ph: "i",
      s: "p",
      args: { message: "what" },
    },
  ]);
});
