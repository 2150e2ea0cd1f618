/** HEAD is answered as GET is, and leaves nothing open: no follower of events and no file. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { Database } from "../../src/server/index/database.ts";
import { RunIndex } from "../../src/server/index/run_index.ts";
import { RUN_INDEX } from "../../src/server/index/run_tables.ts";
import type { AllRuns } from "../../src/server/launches/all_runs.ts";
import { eventsRoutes } from "../../src/server/routes/events.ts";
import { foldersRoutes } from "../../src/server/routes/folders.ts";
import { RunList } from "../../src/server/runs/run_list.ts";
import { withFolder, WrittenRun } from "./written_run.ts";

async function withRun(body: (runs: AllRuns, run: WrittenRun) => Promise<void>): Promise<void> {
  await withFolder(async (root) => {
    using database = new Database(join(root, "index.sqlite"), RUN_INDEX);
    const run = new WrittenRun(root, "one");
    using list = new RunList(root, new RunIndex(database));
    while (list.find("one") === null) await new Promise((resolve) => setTimeout(resolve, 20));
    await body({ list } as unknown as AllRuns, run);
  });
}

Deno.test("head: events are not followed for it, however often it is asked", async () => {
  await withRun(async (runs) => {
    const { feed } = runs.list;
    const follow = feed.follow.bind(feed);
    let followers = 0;
    feed.follow = (...run) => {
      followers++;
      return follow(...run);
    };
    const api = eventsRoutes(runs);
    for (let time = 0; time < 1001; time++) {
      const { status, headers, body } = await api.request("/api/runs/one/events", {
        method: "HEAD",
      });
      assert.deepEqual([status, body], [200, null]);
      assert.equal(headers.get("content-type"), "text/event-stream");
    }
    assert.equal(followers, 0);
    const heard = await api.request("/api/runs/one/events");
    assert.deepEqual([heard.status, followers], [200, 1]);
    await heard.body?.cancel();
  });
});

Deno.test("head: a checkpoint's file is not opened for it", async () => {
  await withRun(async (runs, { folder }) => {
    const checkpoint = join(folder.checkpoints, "step-000001");
    Deno.mkdirSync(checkpoint, { recursive: true });
    Deno.writeTextFileSync(join(checkpoint, "model.bin"), "weights");
    const path = "/api/runs/one/checkpoints/1/files/model.bin";
    const api = foldersRoutes(runs);
    const { open } = Deno;
    let opened = 0;
    Deno.open = (...file) => {
      opened++;
      return open(...file);
    };
    try {
      const { status, headers } = await api.request(path, { method: "HEAD" });
      assert.deepEqual([status, headers.get("content-length"), opened], [200, "7", 0]);
      assert.equal(await (await api.request(path)).text(), "weights");
      assert.equal(opened, 1);
    } finally {
      Deno.open = open;
    }
  });
});
