import assert from "node:assert/strict";
import { join } from "node:path";
import { exists } from "../../../src/platform/files/atomic_file.ts";
import type { RunEvent } from "../../../src/run/events/run_event.ts";
import { RunLogs } from "../../../src/run/events/run_logs.ts";
import { RunFolder } from "../../../src/run/store/run_folder.ts";
import { eventsOf } from "../event_file.ts";

function withFolder(name: string, body: (folder: RunFolder) => void): void {
  const parent = Deno.makeTempDirSync();
  try {
    body(RunFolder.create(join(parent, name), {}));
  } finally {
    Deno.removeSync(parent, { recursive: true });
  }
}

const told = (step: number): RunEvent[] => [
  { type: "changed", step, settings: { "rollout.temperature": 0.5, "a.schedule": "cosine" } },
  { type: "phaseEnded", step, phase: "rollout", seconds: 0.25 },
  {
    type: "step",
    step,
    phase: "generator",
    metrics: { "generator/reward": step / 2 },
    timings: { "perf/tokens_per_second": 64 },
  },
  { type: "evaluation", step, metrics: { "eval/generator/accuracy": 0.75 } },
];

function write(folder: RunFolder, steps: number[], tensorBoard: boolean, lastStep?: number): void {
  const resumed = lastStep === undefined ? undefined : { lastStep, chain: "" };
  using logs = new RunLogs(folder, resumed, { samples: null, tensorBoard });
  for (const event of steps.flatMap(told)) logs.hear(event);
}

const scalarsOf = (step: number) => [
  { step, scalars: { "generator/reward": step / 2, "set/rollout.temperature": 0.5 } },
  { step, scalars: { "perf/tokens_per_second": 64, "perf/rollout_seconds": 0.25 } },
  { step, scalars: { "eval/generator/accuracy": 0.75 } },
];

Deno.test("run logs: TensorBoard has the numbers of metrics and timings, when they were", () => {
  withFolder("run", (folder) => {
    const before = Date.now() / 1000;
    write(folder, [1, 300], true);
    const after = Date.now() / 1000;
    const events = eventsOf(join(folder.tensorBoard, "events.out.tfevents.000001"));
    for (const { wallTime } of events) assert.ok(before <= wallTime && wallTime <= after);
    assert.deepEqual(events.map(({ wallTime: _, ...event }) => event), [
      { step: 0, version: "brain.Event:2" },
      ...scalarsOf(1),
      ...scalarsOf(300),
    ]);
  });
});

Deno.test("run logs: a resumed run begins another event file, which takes back the steps done again", () => {
  withFolder("run", (folder) => {
    write(folder, [1, 2, 3], true);
    const first = join(folder.tensorBoard, "events.out.tfevents.000001");
    const whole = Deno.readFileSync(first);
    write(folder, [3], true, 2);
    write(folder, [1], true, -1);
    assert.deepEqual(Deno.readFileSync(first), whole);
    for (const [file, restart, step] of [["000002", 3, 3], ["000003", 0, 1]] as const) {
      const events = eventsOf(join(folder.tensorBoard, `events.out.tfevents.${file}`));
      assert.deepEqual(events.map(({ wallTime: _, ...event }) => event), [
        { step: 0, version: "brain.Event:2" },
        { step: restart, isRestart: true },
        ...scalarsOf(step),
      ]);
    }
  });
});

Deno.test("run logs: TensorBoard's files are written when asked for, and change no other byte", () => {
  const logged = [false, true].map((tensorBoard) => {
    let files: string[] = [];
    withFolder("run", (folder) => {
      write(folder, [1, 2], tensorBoard);
      assert.equal(exists(folder.tensorBoard), tensorBoard);
      files = [folder.metrics, folder.timings].map((file) => Deno.readTextFileSync(file));
    });
    return files;
  });
  assert.deepEqual(logged[0], logged[1]);
});
