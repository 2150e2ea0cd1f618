import assert from "node:assert/strict";
import { join } from "node:path";
import { exists } from "../../../src/platform/files/atomic_file.ts";
import { EventLog } from "../../../src/run/events/event_log.ts";
import { RunEvents } from "../../../src/run/events/run_events.ts";
import { RunFolder } from "../../../src/run/store/run_folder.ts";
import { toldOf } from "../told.ts";

function withFolder(body: (folder: RunFolder) => void): void {
  const parent = Deno.makeTempDirSync();
  try {
    body(RunFolder.create(join(parent, "run"), {}));
  } finally {
    Deno.removeSync(parent, { recursive: true });
  }
}

Deno.test("event log: lines are numbered, and go on where an earlier part ended", () => {
  withFolder((folder) => {
    for (const step of [0, 3]) {
      const events = new RunEvents();
      using _log = new EventLog(folder, events);
      events.emit({ type: "started", step, total: 9, ranks: 1 });
      events.emit({ type: "phaseEnded", step: step + 1, phase: "rollout", seconds: 0.5 });
      events.emit({
        type: "step",
        step: step + 1,
        phase: "generator",
        metrics: { loss: 1 },
        timings: { "perf/x": 2 },
      });
      events.emit({ type: "samples", step: step + 1, samples: [] });
    }
    const lines = toldOf(folder.path);
    assert.deepEqual(lines.map(({ number, time: _, ...told }) => [number, told]), [
      [1, { type: "started", step: 0, total: 9, ranks: 1 }],
      [2, { type: "phaseEnded", step: 1, phase: "rollout", seconds: 0.5 }],
      [3, { type: "step", step: 1, phase: "generator" }],
      [4, { type: "started", step: 3, total: 9, ranks: 1 }],
      [5, { type: "phaseEnded", step: 4, phase: "rollout", seconds: 0.5 }],
      [6, { type: "step", step: 4, phase: "generator" }],
    ]);
    for (const { time } of lines) assert.equal(new Date(time).toISOString(), time);
  });
});

Deno.test("event log: a compared run's place is not its line's number", () => {
  withFolder((folder) => {
    const events = new RunEvents();
    using _log = new EventLog(folder, events);
    for (const number of [2, 3]) {
      const run = { method: "alone", seed: 1, path: "there", number, total: 3 };
      events.emit({ type: "comparedRun", ...run });
    }
    const told = toldOf(folder.path).map((line) => line.type === "comparedRun" && line.place);
    assert.deepEqual(told, [2, 3]);
    assert.deepEqual(toldOf(folder.path).map(({ number }) => number), [1, 2]);
  });
});

Deno.test("event log: a line that a crash cut short is taken back, a damaged one is named", () => {
  withFolder((folder) => {
    const tell = () => {
      const events = new RunEvents();
      using _log = new EventLog(folder, events);
      events.emit({ type: "failed", step: 2, error: new Error("the GPU is gone") });
    };
    tell();
    Deno.writeTextFileSync(folder.events, '{"number":2,"ti', { append: true });
    tell();
    assert.deepEqual(
      toldOf(folder.path).map(({ time: _, ...line }) => line),
      [1, 2].map((number) => ({ number, type: "failed", step: 2, message: "the GPU is gone" })),
    );
    Deno.writeTextFileSync(folder.events, "what\n", { append: true });
    assert.throws(tell, { name: "UserError", message: /events\.jsonl is damaged: .*"what"/ });
    // The cut line is all there is.
    Deno.writeTextFileSync(folder.events, '{"number":');
    tell();
    assert.deepEqual(toldOf(folder.path).map(({ number }) => number), [1]);
  });
});

Deno.test("event log: a run whose folder was taken back leaves none", () => {
  withFolder((folder) => {
    const events = new RunEvents();
    using _log = new EventLog(folder, events);
    folder.discardIfUnbegun();
    events.emit({ type: "failed", step: 0, error: new Error("no such model") });
    assert.ok(!exists(folder.path));
  });
});

Deno.test("event log: a full disk ends the run with a message", () => {
  withFolder((folder) => {
    Deno.symlinkSync("/dev/full", folder.events);
    const events = new RunEvents();
    using _log = new EventLog(folder, events);
    assert.throws(() => events.emit({ type: "started", step: 0, total: 1, ranks: 1 }), {
      name: "UserError",
      message: /events\.jsonl: the disk is full/,
    });
  });
});
