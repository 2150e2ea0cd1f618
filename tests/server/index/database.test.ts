import assert from "node:assert/strict";
import { join } from "node:path";
import { Database } from "../../../src/server/index/database.ts";
import { RUN_INDEX } from "../../../src/server/index/run_tables.ts";
import { LaunchStore } from "../../../src/server/launches/launch_store.ts";
import { QUEUE } from "../../../src/server/launches/queue_tables.ts";
import { withFolder } from "../written_run.ts";

Deno.test("database: an index of another version is made anew", async () => {
  await withFolder((root) => {
    const path = join(root, "index.sqlite");
    const insert = "INSERT INTO runs (name, mark, progress) VALUES ('a', 'b', 'c')";
    const count = (database: Database) => database.get("SELECT count(*) AS n FROM runs")?.n;
    {
      using database = new Database(path, RUN_INDEX);
      database.run(insert);
    }
    {
      using same = new Database(path, RUN_INDEX);
      assert.equal(count(same), 1);
    }
    using later = new Database(path, { ...RUN_INDEX, version: RUN_INDEX.version + 1 });
    assert.equal(count(later), 0);
    later.run(insert);
  });
});

Deno.test("database: the queue and its keys are never dropped: another version's are refused as they are", async () => {
  await withFolder((root) => {
    const path = join(root, "queue.sqlite");
    {
      using database = new Database(path, QUEUE);
      new LaunchStore(database).answer("key", "request", "one");
    }
    assert.throws(() => new Database(path, { ...QUEUE, version: QUEUE.version + 1 }), {
      name: "UserError",
      message: /queue\.sqlite cannot be opened as the queue of runs: .*version.*put it aside/,
    });
    using database = new Database(path, QUEUE);
    const expected = { request: "request", run: "one" };
    assert.deepEqual(new LaunchStore(database).answered("key"), expected);
  });
});
