import assert from "node:assert/strict";
import { join } from "node:path";
import { Database } from "../../../src/server/index/database.ts";
import { readMetrics } from "../../../src/server/index/read_metrics.ts";
import { RunIndex } from "../../../src/server/index/run_index.ts";
import { RUN_INDEX } from "../../../src/server/index/run_tables.ts";
import { answerError } from "../../../src/server/routes/api.ts";
import { readTimeline } from "../../../src/server/runs/read_timeline.ts";
import { RunList } from "../../../src/server/runs/run_list.ts";
import { withFolder, WrittenRun } from "../written_run.ts";

const fifo = (path: string) => {
  assert.ok(new Deno.Command("mkfifo", { args: [path] }).outputSync().success);
};

const pause = () => new Promise((resolve) => setTimeout(resolve, 20));

Deno.test("run list: while the disk is full it says so, and goes on when there is room", async () => {
  await withFolder(async (root) => {
    Deno.mkdirSync(join(root, ".tango"));
    using database = new Database(join(root, ".tango", "index.sqlite"), RUN_INDEX);
    const run = new WrittenRun(root, "one");
    run.step(1, "generator", { a: 1 });
    using list = new RunList(root, new RunIndex(database));
    while (list.find("one") === null) await pause();
    assert.equal(list.problem, null);
    // What SQLite says when a file cannot grow.
    const { page_count: pages } = database.get("PRAGMA page_count") ?? {};
    database.run(`PRAGMA max_page_count = ${pages}`);
    for (let step = 2; step <= 40; step++) run.sample({ step, solution: "long ".repeat(2000) });
    run.step(2, "generator", { a: 2 });
    while (list.problem === null) await pause();
    assert.match(list.problem ?? "", /one is behind: database or disk is full/);
    const thrown = () => database.run("CREATE TABLE more (text TEXT)");
    assert.throws(thrown, (error: Error) => answerError(error).status === 503);
    database.run("PRAGMA max_page_count = 1000000");
    while (list.problem !== null) await pause();
    const { id, rows } = list.find("one")?.indexed ?? assert.fail("it is gone");
    assert.equal(rows, 2);
    const everything = { names: ["a"], from: 0, to: 9, points: 9 };
    assert.deepEqual(readMetrics(list.index, id, everything).series.a, [1, 2]);
    const { count } = database.get("SELECT count(*) AS count FROM samples") ?? {};
    assert.equal(count, 39);
  });
});

Deno.test("run list: a run whose log is damaged is named, and the others are followed", async () => {
  await withFolder(async (root) => {
    using database = new Database(join(root, "index.sqlite"), RUN_INDEX);
    const damaged = new WrittenRun(root, "damaged");
    Deno.writeTextFileSync(damaged.folder.metrics, "no JSON\n");
    const well = new WrittenRun(root, "well");
    well.step(1, "generator", { a: 1 });
    using list = new RunList(root, new RunIndex(database));
    while (list.find("well")?.indexed.rows !== 1) await pause();
    while (list.problem === null) await pause();
    assert.match(list.problem ?? "", /damaged is behind/);
  });
});

Deno.test("run list: what is new in one run is read while another's long log is being read", async () => {
  await withFolder(async (root) => {
    using database = new Database(join(root, "index.sqlite"), RUN_INDEX);
    const long = new WrittenRun(root, "long");
    const row = `${JSON.stringify({ step: 1, phase: "generator", text: "x".repeat(500) })}\n`;
    Deno.writeTextFileSync(long.folder.metrics, row.repeat(20_000));
    using list = new RunList(root, new RunIndex(database));
    const short = new WrittenRun(root, "short");
    short.step(1, "generator", { a: 1 });
    await list.catchUp("short");
    assert.equal(list.find("short")?.indexed.rows, 1);
  });
});

Deno.test("run list: a broken folder that is removed is no problem any more, and a pipe stops nobody", async () => {
  await withFolder(async (root) => {
    using database = new Database(join(root, "index.sqlite"), RUN_INDEX);
    const broken = join(root, "broken");
    Deno.mkdirSync(broken);
    fifo(join(broken, "metrics.jsonl"));
    Deno.writeTextFileSync(join(broken, "config.yaml"), "a: 1");
    Deno.mkdirSync(join(root, "piped"));
    fifo(join(root, "piped", "config.yaml"));
    const well = new WrittenRun(root, "well");
    fifo(well.folder.control);
    fifo(well.folder.timeline);
    well.step(1, "generator", { a: 1 });
    using list = new RunList(root, new RunIndex(database));
    while (list.find("well")?.indexed.rows !== 1) await pause();
    while (list.problem === null) await pause();
    assert.match(list.problem ?? "", /broken is behind: .*metrics.jsonl is no file/);
    assert.equal(list.find("broken"), null);
    assert.equal(list.find("piped"), null);
    assert.deepEqual(readTimeline(well.folder.timeline, { from: 0, to: 9 }, 0), []);
    Deno.removeSync(broken, { recursive: true });
    while (list.problem !== null) await pause();
  });
});

Deno.test("run list: where the system watches no folder, it says so and looks itself", async () => {
  const { watchFs } = Deno;
  const { error } = console;
  const said: string[] = [];
  Deno.watchFs = () => {
    throw new Error("no inotify instance is left");
  };
  console.error = (text: string) => void said.push(text);
  try {
    await withFolder(async (root) => {
      using database = new Database(join(root, "index.sqlite"), RUN_INDEX);
      const run = new WrittenRun(root, "one");
      using list = new RunList(root, new RunIndex(database));
      while (list.find("one") === null) await pause();
      run.step(1, "generator", { a: 1 });
      while (list.find("one")?.indexed.rows !== 1) await pause();
    });
  } finally {
    Deno.watchFs = watchFs;
    console.error = error;
  }
  assert.match(said.join("\n"), /is not watched: no inotify instance is left/);
});
