import assert from "node:assert/strict";
import { join } from "node:path";
import { exists } from "../../../src/platform/files/atomic_file.ts";
import { UserError } from "../../../src/base/user_error.ts";
import { loadSftConfig, loadTangoConfig } from "../../../src/run/config/load_config.ts";
import { RunControl } from "../../../src/run/control/run_control.ts";
import type { RunEvent } from "../../../src/run/events/run_event.ts";
import { RunEvents } from "../../../src/run/events/run_events.ts";
import { fineTuneWithReport } from "../../../src/run/session/sft_session.ts";
import { listCheckpoints } from "../../../src/run/store/checkpoint.ts";
import { readJsonLines } from "../../../src/run/store/json_lines_log.ts";
import type { MetricsLine } from "../../../src/run/store/metrics_log.ts";
import { RunFolder } from "../../../src/run/store/run_folder.ts";
import { trainWithReport } from "../../../src/run/session/training_session.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { withTinyProject } from "../tiny_project.ts";

/** An event as a word or two. */
function brief(event: RunEvent): string {
  switch (event.type) {
    case "phaseBegan":
      return `${event.phase} {`;
    case "phaseEnded":
      return `} ${event.phase}`;
    case "step":
      return `step ${event.step} ${event.phase}`;
    case "started":
      return `started ${event.step}/${event.total}`;
    case "finished":
      return `finished ${event.step} ${event.reachedEnd}`;
    case "failed":
      return `failed ${event.step} ${(event.error as Error).message}`;
    case "evaluation":
    case "checkpoint":
    case "samples":
      return `${event.type} ${event.step}`;
    case "record":
      return recorded(event.step, event.phase);
    default:
      return event.type;
  }
}

const recorded = (step: number, of: string) => `record of ${of} ${step}`;
const around = (phase: string, inside: readonly string[] = []) => [
  `${phase} {`,
  ...inside,
  `} ${phase}`,
];
const updated = around("update", [...around("forward_backward"), ...around("optimizer")]);
const evaluated = (step: number) => [
  ...around("evaluation"),
  `evaluation ${step}`,
  `samples ${step}`,
  recorded(step, "evaluation"),
];
const saved = (step: number) => [
  ...around("checkpoint", [recorded(step, "weights")]),
  `checkpoint ${step}`,
];
const trained = (step: number, phase: string) => [
  ...around("rollout"),
  ...around("verification"),
  ...updated,
  `step ${step} ${phase}`,
  `samples ${step}`,
  recorded(step, phase),
];

onEveryGpu("events: a run tells all that happens, in order, and its logs hold it", async (gpu) => {
  await withTinyProject(gpu, async (project) => {
    const config = loadTangoConfig(project.config, { steps: 3 });
    const folder = RunFolder.at(join(project.folder, "run"));
    const events = new RunEvents();
    const heard: RunEvent[] = [];
    events.listen((event) => heard.push(event));
    assert.ok(await trainWithReport(gpu, config, folder.path, { resume: false, events }));
    assert.deepEqual(heard.map(brief), [
      "started 0/3",
      recorded(0, "start"),
      ...evaluated(0),
      ...trained(1, "generator"),
      ...saved(1),
      ...trained(2, "verifier"),
      ...trained(3, "generator"),
      ...evaluated(3),
      ...saved(3),
      recorded(3, "models"),
      "finished 3 true",
    ]);
    // The logs are what was told.
    const lines = readJsonLines<MetricsLine>(folder.metrics);
    const told = heard.flatMap((event): MetricsLine[] => {
      if (event.type !== "step" && event.type !== "evaluation") return [];
      const phase = event.type === "step" ? event.phase : event.type;
      return [{ step: event.step, phase, ...event.metrics }];
    });
    assert.deepEqual(lines, told);
    for (const line of readJsonLines<MetricsLine>(folder.timings)) {
      const seconds = (phase: string) => Number(line[`perf/${phase}_seconds`]);
      const parts = ["rollout", "verification", "update"].map(seconds);
      const whole = seconds("step");
      assert.ok(seconds("forward_backward") > 0 && seconds("optimizer") > 0);
      assert.ok(seconds("forward_backward") + seconds("optimizer") <= seconds("update"));
      assert.ok(parts.every((part) => part > 0), "every phase takes its time");
      assert.ok(parts.reduce((a, b) => a + b) <= whole, "the phases are within the step");
    }
  });
});

onEveryGpu("events: fine-tuning tells the same", async (gpu) => {
  await withTinyProject(gpu, async (project) => {
    const config = loadSftConfig(project.sftConfig);
    const events = new RunEvents();
    const heard: string[] = [];
    events.listen((event) => heard.push(brief(event)));
    const ignored = { onPlan() {}, onOpen() {} };
    const path = join(project.folder, "run");
    assert.ok(await fineTuneWithReport(gpu, config, path, { resume: false, events, ...ignored }));
    const measured = (step: number) => [
      ...around("evaluation"),
      `evaluation ${step}`,
      recorded(step, "evaluation"),
    ];
    assert.deepEqual(heard, [
      "started 0/2",
      recorded(0, "start"),
      ...measured(0),
      ...updated,
      "step 1 generator",
      recorded(1, "generator"),
      ...measured(1),
      ...updated,
      "step 2 generator",
      recorded(2, "generator"),
      ...measured(2),
      ...saved(2),
      recorded(2, "models"),
      "finished 2 true",
    ]);
    const folder = RunFolder.at(path);
    const timed = readJsonLines<MetricsLine>(folder.timings);
    assert.ok(timed.every((line) => Number(line["perf/update_seconds"]) > 0));
    assert.ok(!exists(folder.samples), "it has none");
  });
});

onEveryGpu("events: a listener that throws ends the run, and all others hear why", async (gpu) => {
  await withTinyProject(gpu, async (project) => {
    const config = loadTangoConfig(project.config);
    const events = new RunEvents();
    const heard: string[] = [];
    let calls = 0;
    events.listen((event) => {
      calls++;
      if (event.type === "step" && event.step === 2) throw new Error("the log is full");
    });
    events.listen((event) => heard.push(brief(event)));
    const live = gpu.pool.liveBytes;
    const path = join(project.folder, "run");
    await assert.rejects(trainWithReport(gpu, config, path, { resume: false, events }), {
      message: "the log is full",
    });
    assert.deepEqual(heard.slice(-2), ["step 2 verifier", "failed 2 the log is full"]);
    assert.equal(calls, heard.length - 1, "it does not hear of its own failure");
    assert.equal(gpu.pool.liveBytes, live);
  });
});

onEveryGpu("events: a run that fails before its next step says which was the last", async (gpu) => {
  await withTinyProject(gpu, async (project) => {
    const path = join(project.folder, "run");
    const config = loadTangoConfig(project.config, { steps: 2 });
    assert.ok(await trainWithReport(gpu, config, path, { resume: false }));
    const events = new RunEvents();
    const failed: number[] = [];
    events.listen((event) => {
      if (event.type === "started") throw new Error("nobody listens");
    });
    events.listen((event) => {
      if (event.type === "failed") failed.push(event.step);
    });
    const further = loadTangoConfig(project.config, { steps: 3 });
    await assert.rejects(trainWithReport(gpu, further, path, { resume: true, events }));
    assert.deepEqual(failed, [2]);
  });
});

onEveryGpu("events: a run that cannot begin has failed too", async (gpu) => {
  await withTinyProject(gpu, async (project) => {
    const config = loadTangoConfig(project.config, { set: ["generator.model=nowhere"] });
    const events = new RunEvents();
    const heard: string[] = [];
    events.listen((event) => heard.push(event.type));
    const path = join(project.folder, "run");
    const failing = trainWithReport(gpu, config, path, { resume: false, events });
    await assert.rejects(failing, { name: "UserError" });
    assert.deepEqual(heard, ["failed"]);
  });
});

Deno.test("events: errors of several listeners are all told", () => {
  const events = new RunEvents();
  events.listen(() => {
    throw new Error("one");
  });
  events.listen(() => {
    throw new Error("two");
  });
  const step = { type: "paused", step: 1 } as const;
  assert.throws(() => events.emit(step), ({ errors }: AggregateError) => errors.length === 2);
  events.emit(step); // both are gone
});

Deno.test("events: what listeners have against one thing that a user can mend is one message", async () => {
  const events = new RunEvents();
  const full = (file: string) => () => {
    throw new UserError(`${file}: the disk is full. Make room and continue.`);
  };
  events.listen(full("events.jsonl"));
  events.listen(full("metrics.jsonl"));
  events.listen(full("metrics.jsonl"));
  const message = "events.jsonl: the disk is full. Make room and continue.\n" +
    "metrics.jsonl: the disk is full. Make room and continue.";
  assert.throws(() => events.emit({ type: "paused", step: 1 }), { name: "UserError", message });

  // So is that of a listener who cannot write down why the run fails.
  events.listen(full("events.jsonl"));
  await assert.rejects(
    events.announceFailure(() => 1, () => Promise.resolve(full("generator/000001")())),
    { name: "UserError", message: /^generator\/000001: .*\nevents\.jsonl: / },
  );
});

onEveryGpu("control: a run saves, waits, goes on and stops as it is asked", async (gpu) => {
  await withTinyProject(gpu, async (project) => {
    const config = loadTangoConfig(project.config, {
      set: [
        "schedule.save_frequency=0",
        "schedule.keep_checkpoints=9",
        "schedule.test_frequency=0",
      ],
    });
    const folder = RunFolder.at(join(project.folder, "run"));
    const events = new RunEvents();
    const control = new RunControl();
    const heard: string[] = [];
    events.listen((event) => {
      const word = brief(event);
      if (/^(step|checkpoint \d|paused|continued|finished)/.test(word)) heard.push(word);
      if (word === "step 1 generator") control.save();
      if (word === "step 2 verifier") control.pause();
      if (event.type === "paused") {
        // While it waits it saves and stays where it is.
        setTimeout(() => control.save());
        setTimeout(() => control.goOn(), 50);
      }
      if (word === "step 3 generator") {
        control.pause();
        control.stop();
      }
    });
    const options = { resume: false, events, control };
    assert.equal(await trainWithReport(gpu, config, folder.path, options), false);
    assert.deepEqual(heard, [
      "step 1 generator",
      "checkpoint 1",
      "step 2 verifier",
      "paused",
      "checkpoint 2",
      "continued",
      "step 3 generator",
      "checkpoint 3",
      "finished 3 false",
    ]);
    assert.deepEqual(listCheckpoints(folder.checkpoints).map(({ step }) => step), [1, 2, 3]);
    assert.match(Deno.readTextFileSync(folder.report), /The run stopped after step 3 of 5/);
    const paused = readJsonLines<MetricsLine>(folder.timings).map((line) =>
      Number(line["perf/paused_seconds"] ?? 0) > 0
    );
    assert.deepEqual(paused, [false, false, true]);
  });
});
