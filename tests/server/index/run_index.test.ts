import assert from "node:assert/strict";
import { join } from "node:path";
import { Database } from "../../../src/server/index/database.ts";
import { secondsLeft } from "../../../src/server/index/progress.ts";
import { eventsAfter } from "../../../src/server/index/read_events.ts";
import { readConfusion } from "../../../src/server/index/read_confusion.ts";
import { lastValue, metricNames, readMetrics } from "../../../src/server/index/read_metrics.ts";
import { findSamples } from "../../../src/server/index/read_samples.ts";
import { RunIndex } from "../../../src/server/index/run_index.ts";
import { RUN_INDEX } from "../../../src/server/index/run_tables.ts";
import { withFolder, WrittenRun } from "../written_run.ts";

const everything = { from: 0, to: 1e9, points: 1e9 };

/** Reads all that is new. */
function follow(index: RunIndex, { folder }: WrittenRun): number {
  const { id } = index.find("run", "mark");
  while (index.update(id, folder).isMore);
  return id;
}

Deno.test("index: metrics and times are rows of columns, also of an index that was closed", async () => {
  await withFolder((root) => {
    const path = join(root, "index.sqlite");
    const run = new WrittenRun(root, "run");
    const names = ["a", "perf/step_seconds", "eval"];
    const expected = {
      steps: [0, 1, 2],
      phases: ["evaluation", "generator", "verifier"],
      series: { a: [null, 5, null], "perf/step_seconds": [null, 2, 3], eval: [0.5, null, null] },
    };
    {
      using database = new Database(path, RUN_INDEX);
      const index = new RunIndex(database);
      follow(index, run);
      run.evaluation(0, { eval: 0.5 });
      run.step(1, "generator", { a: 5 }, 2);
      follow(index, run);
      run.step(2, "verifier", { b: 6 }, 3);
      // A line that is being written.
      Deno.writeTextFileSync(run.folder.metrics, '{"step":3', { append: true });
      const id = follow(index, run);
      assert.deepEqual(readMetrics(index, id, { ...everything, names }), expected);
      assert.deepEqual(metricNames(index, id), ["a", "b", "eval", "perf/step_seconds"]);
    }
    using database = new Database(path, RUN_INDEX);
    const index = new RunIndex(database);
    const id = follow(index, run);
    assert.equal(index.rowsOf(id), 3);
    assert.deepEqual(readMetrics(index, id, { ...everything, names }), expected);
    const some = readMetrics(index, id, { names: ["a"], from: 1, to: 1, points: 9 });
    assert.deepEqual(some.steps, [1]);
  });
});

Deno.test("index: a mean over steps of both policies is of several, one over a policy's own of it", async () => {
  await withFolder((root) => {
    using database = new Database(join(root, "index.sqlite"), RUN_INDEX);
    const index = new RunIndex(database);
    const run = new WrittenRun(root, "run");
    for (let step = 1; step <= 8; step++) {
      run.step(step, step > 4 && step % 2 === 0 ? "verifier" : "generator", { a: step });
      if (step === 2) run.evaluation(2, { eval: 1 });
    }
    const id = follow(index, run);
    const { steps, phases } = readMetrics(index, id, { ...everything, names: ["a"], points: 3 });
    assert.deepEqual([steps, phases], [[2, 5, 8], ["generator", "generator", "several"]]);
  });
});

Deno.test("index: what a resumed run does again takes the place of what it did", async () => {
  await withFolder((root) => {
    using database = new Database(join(root, "index.sqlite"), RUN_INDEX);
    const index = new RunIndex(database);
    const run = new WrittenRun(root, "run");
    // More rows than a chunk of a column has.
    const steps = 1200;
    for (let step = 1; step <= steps; step++) run.step(step, "generator", { a: step }, step);
    let id = follow(index, run);
    assert.equal(index.rowsOf(id), steps);
    // Cut back, and noticed.
    run.cutTo(700);
    id = follow(index, run);
    assert.equal(index.rowsOf(id), 700);
    for (let step = 701; step <= 703; step++) run.step(step, "verifier", { a: -step }, 1);
    follow(index, run);
    // Cut back and grown longer than before, unnoticed meanwhile.
    run.cutTo(600);
    for (let step = 601; step <= steps + 50; step++) run.step(step, "verifier", { a: -step }, -1);
    id = follow(index, run);
    const { series } = readMetrics(index, id, { ...everything, names: ["a", "perf/step_seconds"] });
    const all = Array.from({ length: steps + 50 }, (_, row) => row + 1);
    assert.deepEqual(series.a, all.map((step) => step <= 600 ? step : -step));
    assert.deepEqual(series["perf/step_seconds"], all.map((step) => step <= 600 ? step : -1));
    const averaged = readMetrics(index, id, { names: ["a"], from: 1, to: 600, points: 6 });
    assert.deepEqual(averaged.steps, [100, 200, 300, 400, 500, 600]);
    assert.deepEqual(averaged.series.a, [50.5, 150.5, 250.5, 350.5, 450.5, 550.5]);
  });
});

Deno.test("index: long spans are about even, and each has the mean of just its rows", async () => {
  await withFolder((root) => {
    using database = new Database(join(root, "index.sqlite"), RUN_INDEX);
    const index = new RunIndex(database);
    const run = new WrittenRun(root, "run");
    const rows = 3000;
    const valueOf = (step: number) => (step * step) % 97;
    for (let step = 1; step <= rows; step++) run.step(step, "generator", { a: valueOf(step) });
    const id = follow(index, run);
    const from = 11;
    const { steps, series } = readMetrics(index, id, { names: ["a"], from, to: rows, points: 7 });
    assert.equal(steps.at(-1), rows);
    steps.forEach((last, span) => {
      const first = span === 0 ? from : steps[span - 1] + 1;
      const length = last - first + 1;
      assert.ok(Math.abs(length - (rows - from + 1) / 7) <= 64, `${length} rows`);
      let sum = 0;
      for (let step = first; step <= last; step++) sum += valueOf(step);
      // Whole numbers, whose sums are exact.
      assert.equal(series.a[span], sum / length);
    });
    assert.deepEqual(readMetrics(index, id, { names: ["a"], from: 9, to: 2, points: 5 }).steps, []);
  });
});

Deno.test("index: a time that comes before what it was measured of waits for it", async () => {
  await withFolder((root) => {
    using database = new Database(join(root, "index.sqlite"), RUN_INDEX);
    const index = new RunIndex(database);
    const run = new WrittenRun(root, "run");
    run.step(1, "generator", { a: 1 });
    Deno.writeTextFileSync(run.folder.timings, '{"step":2,"phase":"generator","perf/x":7}\n', {
      append: true,
    });
    follow(index, run);
    Deno.writeTextFileSync(run.folder.metrics, '{"step":2,"phase":"generator"}\n', {
      append: true,
    });
    const id = follow(index, run);
    const { series } = readMetrics(index, id, { ...everything, names: ["perf/x"] });
    assert.deepEqual(series["perf/x"], [null, 7]);
  });
});

Deno.test("index: events are numbered, and tell how far the run is and how long it will take", async () => {
  await withFolder((root) => {
    using database = new Database(join(root, "index.sqlite"), RUN_INDEX);
    const index = new RunIndex(database);
    const run = new WrittenRun(root, "run");
    const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + 1000 * seconds);
    run.event({ type: "started", step: 0, total: 10, ranks: 1 }, at(0));
    run.event({ type: "step", step: 1, phase: "generator" }, at(90));
    run.event({ type: "failed", step: 1, message: "lost device" }, at(95));
    let id = follow(index, run);
    const progress = () => index.find("run", "mark").progress;
    assert.equal(progress().told, "failed");
    assert.equal(progress().error, "lost device");
    assert.equal(secondsLeft(progress(), at(95).toISOString()), null);
    // A resumed run goes at its own pace, and waiting does not count.
    run.event({ type: "started", step: 1, total: 10, ranks: 2 }, at(900));
    run.event({ type: "phaseBegan", step: 1, phase: "evaluation" }, at(900));
    run.event({ type: "phaseBegan", step: 2, phase: "rollout" }, at(1000));
    run.event({ type: "step", step: 2, phase: "generator" }, at(1010));
    run.event({ type: "paused", step: 2 }, at(1010));
    run.event({ type: "continued", step: 2 }, at(1510));
    run.event({ type: "phaseBegan", step: 3, phase: "rollout" }, at(1510));
    run.event({ type: "step", step: 3, phase: "generator" }, at(1520));
    id = follow(index, run);
    const { told, step, totalSteps, phase, error, startedAt, ranks } = progress();
    assert.deepEqual([told, step, totalSteps, phase, error], ["running", 3, 10, "rollout", null]);
    assert.deepEqual([startedAt, ranks], [at(0).toISOString(), 2]);
    // Seven steps of ten seconds; what was measured before the first is none of their pace.
    const left = (seconds: number) => secondsLeft(progress(), at(seconds).toISOString());
    assert.equal(left(1520), 70);
    // The present step goes on, and may take longer than others.
    assert.deepEqual([left(1524), left(1590)], [66, 60]);
    run.event({ type: "paused", step: 3 }, at(1521));
    follow(index, run);
    assert.equal(left(2000), 69);
    run.event({ type: "continued", step: 3 }, at(2001));
    follow(index, run);
    assert.equal(left(2004), 66);
    assert.deepEqual(eventsAfter(database, id, 11, 9).map(({ number }) => number), [12, 13]);
    // Another run in a folder of that name begins anew.
    assert.equal(index.find("run", "another").progress.told, "nothing");
    assert.deepEqual(eventsAfter(database, index.find("run", "another").id, 0, 9), []);
  });
});

Deno.test("index: samples are found by what is wrong with them", async () => {
  await withFolder((root) => {
    using database = new Database(join(root, "index.sqlite"), RUN_INDEX);
    const index = new RunIndex(database);
    const run = new WrittenRun(root, "run");
    const critique = (verdict: boolean | null) => ({
      version: 0,
      text: "",
      stepJudgments: [],
      verdict,
    });
    run.sample({ solution: "right", critiques: [critique(true), critique(false)] });
    run.sample({
      solution: "long and cut",
      answer: null,
      correct: false,
      critiques: [critique(false)],
    });
    run.sample({ step: 2, solution: "mute", problem: "q", critiques: [critique(null)] });
    run.sample({
      step: 2,
      solution: "odd",
      rewards: { format: 0.5 },
      correct: false,
      critiques: [critique(true)],
    });
    const id = follow(index, run);
    const found = (query: Parameters<typeof findSamples>[2]) =>
      findSamples(database, id, query).lines.map((line) => JSON.parse(line).solution);
    assert.deepEqual(found({}), ["mute", "odd", "right", "long and cut"]);
    assert.deepEqual(found({ filter: "longest" })[0], "long and cut");
    assert.deepEqual(found({ filter: "disagrees" }), ["odd", "right"]);
    assert.deepEqual(found({ filter: "cut-off" }), ["long and cut"]);
    assert.deepEqual(found({ filter: "bad-format" }), ["mute", "odd"]);
    assert.deepEqual(found({ step: 2, group: "q" }), ["mute"]);
  });
});

Deno.test("index: a verifier step's numbers give its confusion matrix", async () => {
  await withFolder((root) => {
    using database = new Database(join(root, "index.sqlite"), RUN_INDEX);
    const index = new RunIndex(database);
    const run = new WrittenRun(root, "run");
    // Of 10 critiques of 6 right and 4 wrong solutions: 3 and 2 are judged right, 1 is unreadable.
    run.step(1, "verifier", {
      "verifier/solutions_correct": 0.6,
      "verifier/recall": 0.5,
      "verifier/accuracy": 0.5,
      "verifier/verdict_unparsed": 0.1,
    });
    run.step(2, "generator", { "generator/reward": 1 });
    const id = follow(index, run);
    const [point, ...others] = readConfusion(index, id);
    assert.equal(others.length, 0);
    const expected = {
      trueCorrect: 0.3,
      falseIncorrect: 0.3,
      trueIncorrect: 0.2,
      falseCorrect: 0.2,
    };
    for (const [name, share] of Object.entries(expected)) {
      const found = point[name as keyof typeof expected];
      assert.ok(Math.abs(found - share) < 1e-12, `${name} is ${found}`); // sums of a few doubles below 1
    }
    assert.deepEqual([point.step, point.unparsed], [1, 0.1]);
    assert.equal(lastValue(index, id, "verifier/accuracy"), 0.5);
    assert.equal(lastValue(index, id, "generator/kl"), null);
  });
});
