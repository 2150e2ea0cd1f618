import assert from "node:assert/strict";
import { join } from "node:path";
import { Database } from "../../../src/server/index/database.ts";
import { RunIndex } from "../../../src/server/index/run_index.ts";
import { RUN_INDEX } from "../../../src/server/index/run_tables.ts";
import { Launcher } from "../../../src/server/launches/launcher.ts";
import { LaunchStore } from "../../../src/server/launches/launch_store.ts";
import { QUEUE } from "../../../src/server/launches/queue_tables.ts";
import type { RunLaunch } from "../../../src/server/runs/launch.ts";
import { LiveMemory } from "../../../src/server/runs/live_memory.ts";
import { RunList } from "../../../src/server/runs/run_list.ts";
import { withFolder } from "../written_run.ts";

const ended: RunLaunch = {
  ...{ kind: "sft", args: ["sft"], ranks: 1, gpuIndex: 1, state: "ended", process: null } as const,
  ...{ plan: { bytes: 5, limitBytes: 9, gpus: [0, 1] }, gpus: [1] },
  ...{ createdAt: "2026-01-01T00:00:00Z", startedAt: null, endedAt: null, exitCode: 0 },
  ...{ lastWords: null, isStopAsked: true, isKilled: false },
};

Deno.test({
  name: "launcher: a run keeps plan and GPU when it is resumed, unless on another number of ranks",
  // It begins to plan in a process that nobody waits for.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: () =>
    withFolder((root) => {
      using database = new Database(join(root, "queue.sqlite"), QUEUE);
      using index = new Database(join(root, "index.sqlite"), RUN_INDEX);
      using list = new RunList(root, new RunIndex(index));
      const launches = new LaunchStore(database);
      using launcher = new Launcher(list, launches, root, "none", new LiveMemory(list));
      const resumed = (ranks: number) => {
        launches.add("one", ended);
        launcher.resume("one", "sft", { ranks });
        const { plan, gpuIndex } = launches.find("one") ?? assert.fail("it is gone");
        return { plan, gpuIndex };
      };
      assert.deepEqual(resumed(1), { plan: ended.plan, gpuIndex: 1 });
      assert.deepEqual(resumed(2), { plan: null, gpuIndex: null });
    }),
});

Deno.test("launcher: what fails while it looks at its processes is said, and ends nobody", async () => {
  await withFolder(async (root) => {
    const { error } = console;
    const said = Promise.withResolvers<unknown>();
    console.error = (problem) => said.resolve(problem);
    try {
      using database = new Database(join(root, "queue.sqlite"), QUEUE);
      const list = { root, all: [] } as unknown as RunList;
      const store = new LaunchStore(database);
      using memory = new LiveMemory(list);
      using _launcher = new Launcher(list, store, root, "none", memory);
      store.all = () => {
        throw new Error("the disk is gone");
      };
      assert.match(String(await said.promise), /the disk is gone/);
    } finally {
      console.error = error;
    }
  });
});
