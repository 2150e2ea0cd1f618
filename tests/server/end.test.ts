/** A server that is asked to end does, whoever is still listening. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { serve } from "../../src/server/serve.ts";
import { startServer } from "./server_process.ts";
import { withFolder, WrittenRun } from "./written_run.ts";

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.test(`end: ${signal} ends the server and the event streams, and waits for no slow request`, async () => {
    await withFolder(async (root) => {
      const run = new WrittenRun(root, "one");
      run.event({ type: "started", step: 0, total: 5, ranks: 1 });
      const { url, child } = await startServer(root);
      let heard = await fetch(`${url}/api/runs/one/events`);
      while (heard.status === 404) {
        await heard.body?.cancel();
        await new Promise((resolve) => setTimeout(resolve, 20));
        heard = await fetch(`${url}/api/runs/one/events`);
      }
      const { hostname, port } = new URL(url);
      using slow = await Deno.connect({ hostname, port: Number(port) });
      await slow.write(new TextEncoder().encode("GET /api/runs HTTP/1.1\r\nhost:"));
      child.kill(signal);
      assert.match(await heard.text(), /"type":"started"/);
      const { code, signal: killer } = await child.status;
      assert.deepEqual([code, killer], [0, null]);
    });
  });
}

Deno.test({
  name: "end: whoever does not read an answer to its end is waited for only so long",
  // The file's stream is cut off.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await withFolder(async (root) => {
      const run = new WrittenRun(root, "one");
      const checkpoint = join(run.folder.checkpoints, "step-000001");
      Deno.mkdirSync(checkpoint, { recursive: true });
      Deno.writeFileSync(join(checkpoint, "model.bin"), new Uint8Array(1 << 26));
      const options = { hostname: "127.0.0.1", port: 0, token: null, folders: [], root };
      const server = serve({ ...options, program: "none" });
      while ((await (await fetch(`${server.url}/api/runs`)).json()).runs.length === 0);
      const { hostname, port } = new URL(server.url);
      using connection = await Deno.connect({ hostname, port: Number(port) });
      const path = "/api/runs/one/checkpoints/1/files/model.bin";
      const request = `GET ${path} HTTP/1.1\r\nhost: ${hostname}:${port}\r\n\r\n`;
      await connection.write(new TextEncoder().encode(request));
      const status = new Uint8Array(12);
      await connection.read(status);
      assert.equal(new TextDecoder().decode(status), "HTTP/1.1 200");
      await server[Symbol.asyncDispose]();
      await assert.rejects(fetch(server.url));
    });
  },
});
