import assert from "node:assert/strict";
import { join } from "node:path";
import { writeControlFile } from "../../../src/run/control/endpoint/control_file.ts";
import { Database } from "../../../src/server/index/database.ts";
import { RunIndex } from "../../../src/server/index/run_index.ts";
import { RUN_INDEX } from "../../../src/server/index/run_tables.ts";
import { LaunchStore } from "../../../src/server/launches/launch_store.ts";
import { QUEUE } from "../../../src/server/launches/queue_tables.ts";
import { Steering } from "../../../src/server/launches/steering.ts";
import { RunList } from "../../../src/server/runs/run_list.ts";
import { configuration } from "../client.ts";
import { withFolder, WrittenRun } from "../written_run.ts";

Deno.test("steering: settings that are asked for after a pause arrive after it", async () => {
  await withFolder(async (root) => {
    const { folder } = new WrittenRun(root, "one", configuration);
    const socket = join(root, "socket");
    const listener = Deno.listen({ transport: "unix", path: socket });
    writeControlFile(folder, socket);
    const heard: string[] = [];
    const hearing = (async () => {
      for await (const connection of listener) {
        const bytes = new Uint8Array(1000);
        const count = await connection.read(bytes) ?? 0;
        heard.push(JSON.parse(new TextDecoder().decode(bytes.subarray(0, count))).request);
        await connection.write(new TextEncoder().encode('{"ok":false,"message":"heard"}\n'));
        connection.close();
      }
    })();
    using queue = new Database(join(root, "queue.sqlite"), QUEUE);
    using index = new Database(join(root, "index.sqlite"), RUN_INDEX);
    using list = new RunList(root, new RunIndex(index));
    await list.catchUp("one");
    const run = list.find("one") ?? assert.fail("it is not found");
    const steering = new Steering(list, new LaunchStore(queue));
    const change = () => steering.change(run, { "optimizer.learning_rate": 1 });
    steering.ask("one", { request: "pause" });
    await assert.rejects(change, { status: 409, message: "heard" });
    steering.ask("one", { request: "goOn" });
    await assert.rejects(change, { status: 409, message: "heard" });
    assert.deepEqual(heard, ["pause", "change", "goOn", "change"]);
    listener.close();
    await hearing.catch(() => {});
  });
});
