import assert from "node:assert/strict";
import { join } from "node:path";
import { loadTangoConfig } from "../../../src/run/config/load_config.ts";
import type { ActivityEvent } from "../../../src/run/events/run_event.ts";
import { RunEvents } from "../../../src/run/events/run_events.ts";
import { trainWithReport } from "../../../src/run/session/training_session.ts";
import { alone } from "../../../src/distributed/communicator.ts";
import { withTimeline } from "../../../src/run/trace/run_timeline.ts";
import type { Metrics } from "../../../src/run/store/metrics_log.ts";
import { TraceFile } from "../../../src/run/trace/trace_file.ts";
import { onRanks } from "../../distributed/in_process.ts";
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
    await withTimeline(
      gpu,
      { ranks: alone, events },
      { path, kernelsOf: { first: 2, last: 2 } },
      (timeline) => trainWithReport(gpu, config, folder, { resume: false, events, timeline }),
    );
    const all = spansOf(Deno.readTextFileSync(path));
    const spans = all.filter(({ tid }) => tid === 0);
    const kernels = all.filter(({ tid }) => tid === 2);
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

onEveryGpu("trace: one file for all ranks, with who waited for whom", async (gpu) => {
  const path = join(Deno.makeTempDirSync(), "trace.json");
  const pause = (milliseconds: number) => new Promise((done) => setTimeout(done, milliseconds));
  const sent: number[] = [];
  const told: [rank: number, event: ActivityEvent][] = [];
  const timings = await onRanks(3, async (ranks) => {
    const events = new RunEvents();
    // Ranks of one process share its GPU, which does nothing here.
    const options = { path, kernelsOf: null };
    return await withTimeline(gpu, { ranks, events }, options, async (timeline) => {
      const { rank, send, receive } = timeline.ranks;
      events.emit({ type: "started", step: 0, total: 2, ranks: 1 });
      const lines: Metrics[] = [];
      events.listen((event) => {
        if (event.type === "activity") told.push([rank, event]);
      });
      for (const step of [1, 2]) {
        await events.during(step, "rollout", async () => {
          // The others wait for rank 0, who computes meanwhile.
          if (rank === 0) {
            await pause(20);
            for (const to of [1, 2]) await send(new Uint8Array(100 * step), to);
          } else await receive(new Uint8Array(100 * step), 0);
        });
        // Longer than any of them takes.
        lines.push(await timeline.stepEnd(60));
        events.emit({ type: "step", step, phase: "generator", metrics: {}, timings: {} });
      }
      sent[rank] = ranks.bytesSent;
      await events.during(2, "checkpoint", () => pause(1));
      await timeline.runEnd();
      return lines;
    });
  });
  assert.deepEqual(timings.slice(1), [[{}, {}], [{}, {}]], "the first rank tells");
  timings[0].forEach((line, i) => {
    assert.equal(line["perf/idle_share/rank_0"], 0, "it received nothing");
    const idle = [1, 2].map((rank) => line[`perf/idle_share/rank_${rank}`]);
    assert.ok(idle.every((share) => share > 0 && share <= 1), `${idle}`);
    assert.ok(Math.abs(line["perf/idle_share"] - (idle[0] + idle[1]) / 3) < 1e-12);
    // Nobody but the others tells how the step was; it answers eight times, in the first, what time it is.
    assert.equal(line["perf/bytes_sent/rank_0"], 200 * (i + 1) + (i === 0 ? 2 * 8 * 8 : 0));
    const all = [0, 1, 2].map((rank) => line[`perf/bytes_sent/rank_${rank}`]);
    assert.equal(line["perf/bytes_sent"], all[0] + all[1] + all[2]);
  });
  for (const [rank, bytes] of sent.entries()) {
    const counted = timings[0].map((line) => line[`perf/bytes_sent/rank_${rank}`]);
    assert.equal(counted[0] + counted[1], bytes, `all that rank ${rank} has sent`);
  }
  assert.deepEqual(told.map(([rank, { step }]) => [rank, step]), [[0, 1], [0, 2], [0, 2]]);
  const [, [, second], [, last]] = told;
  assert.deepEqual(second.ranks.map((spans) => spans.some(({ name }) => name === "idle")), [
    false,
    true,
    true,
  ]);
  for (const spans of last.ranks) assert.ok(spans.some(({ name }) => name === "checkpoint"));
  const text = Deno.readTextFileSync(path);
  const named = (JSON.parse(text) as Written[]).filter(({ name }) => name === "process_name");
  assert.deepEqual(named.map(({ pid }) => pid), [0, 1, 2]);
  const spans = spansOf(text);
  for (const rank of [0, 1, 2]) {
    const own = spans.filter(({ pid, tid }) => pid === rank && tid === 0);
    const names = ["rollout", "generator step", "rollout", "generator step", "checkpoint"];
    assert.deepEqual(own.map(({ name }) => name).sort(), names.sort());
    const idle = spans.filter(({ pid, name }) => pid === rank && name === "idle");
    assert.equal(idle.length, rank === 0 ? 0 : 2);
    // It waits within its rollout.
    for (const one of idle) {
      const around = own.filter(({ name, ts, dur }) =>
        name === "rollout" && ts <= one.ts + 1 && one.ts + one.dur <= ts + dur + 1
      );
      assert.equal(around.length, 1);
    }
  }
});
