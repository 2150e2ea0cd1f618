import assert from "node:assert/strict";
import { join } from "node:path";
import { serve } from "../../src/server/serve.ts";
import { startServer } from "./server_process.ts";
import { withFolder } from "./written_run.ts";

const plain = { hostname: "127.0.0.1", port: 0, token: null, folders: [], program: "none" };

Deno.test("server lock: a second server on a folder is refused and told of the first, until that one is gone", async () => {
  await withFolder(async (folder) => {
    const root = join(folder, "runs");
    const link = join(folder, "link");
    const { url, child } = await startServer(root);
    Deno.symlinkSync(root, link);
    for (const same of [root, link]) {
      const message = new RegExp(
        `^${same} is served by process ${child.pid} at ${url} already\\. .*kill -INT ${child.pid}.*--runs`,
      );
      assert.throws(() => serve({ ...plain, root: same }), { name: "UserError", message });
    }
    child.kill("SIGKILL");
    await child.status;
    {
      await using first = serve({ ...plain, root });
      // Of the same process, too.
      assert.throws(() => serve({ ...plain, root }), {
        message: new RegExp(`process ${Deno.pid} at ${first.url} already`),
      });
    }
    await using next = serve({ ...plain, root });
    // Who was refused has not taken anything from the one that serves.
    assert.equal((await (await fetch(`${next.url}/healthz`)).json()).status, "ok");
    // What holds it says nothing that can be read.
    Deno.truncateSync(join(root, ".tango", "server.lock"));
    assert.throws(() => serve({ ...plain, root }), { message: /served by another server already/ });
  });
});
