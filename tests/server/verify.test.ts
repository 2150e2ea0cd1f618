import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { identify, isAlive } from "../../src/platform/process/process_identity.ts";
import { serve } from "../../src/server/serve.ts";
import { withFolder, WrittenRun } from "./written_run.ts";

const program = fileURLToPath(import.meta.resolve("../../src/cli/main.ts"));

function askAt(url: string, body: object): Promise<Response> {
  return fetch(`${url}/api/verify`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

Deno.test("verify: a run without a verifier is refused, and a process that cannot be started blocks nobody", async () => {
  await withFolder(async (root) => {
    new WrittenRun(root, "tuned", { policy: "generator" });
    const run = new WrittenRun(root, "one", { generator: 5 });
    Deno.mkdirSync(join(run.folder.checkpoints, "step-000003"), { recursive: true });
    const options = { hostname: "127.0.0.1", port: 0, token: null, folders: [], root };
    await using server = serve({ ...options, program });
    const ask = (body: object) => askAt(server.url, body);
    while ((await (await fetch(`${server.url}/api/runs`)).json()).runs.length < 2);
    const tuned = await ask({ run: "tuned", problem: "p" });
    assert.deepEqual([tuned.status, (await tuned.json()).field], [422, "run"]);
    const strange = await ask({ run: "one", problem: "p", step: 3 });
    assert.equal(strange.status, 422);
    assert.match(await strange.text(), /step/);
    // The kernel refuses to start a process with a variable of more than 128 KiB.
    Deno.env.set("TANGO_TEST_TOO_LONG", "x".repeat(1 << 18));
    try {
      const failed = await ask({ run: "one", problem: "p" });
      assert.equal(failed.status, 500);
      await failed.body?.cancel();
    } finally {
      Deno.env.delete("TANGO_TEST_TOO_LONG");
    }
    const next = await ask({ run: "one", problem: "p" });
    assert.equal(next.status, 200);
    await next.text();
  });
});

Deno.test("verify: what cannot be asked is refused, and a process that fails says why in the last line", async () => {
  await withFolder(async (root) => {
    const run = new WrittenRun(root, "one", { generator: 5 });
    run.event({ type: "started", step: 0, total: 5, ranks: 1 });
    const options = { hostname: "127.0.0.1", port: 0, token: null, folders: [], root };
    await using server = serve({ ...options, program });
    const ask = (body: object) => askAt(server.url, body);
    const status = async (body: object) => {
      const response = await ask(body);
      const { field } = await response.json();
      return [response.status, field];
    };
    while ((await (await fetch(`${server.url}/api/runs`)).json()).runs.length === 0);
    assert.deepEqual(await status({ run: "none", problem: "p" }), [404, undefined]);
    assert.deepEqual(await status({ run: "../one", problem: "p" }), [404, undefined]);
    assert.deepEqual(await status({ run: "one", problem: "" }), [422, "problem"]);
    assert.deepEqual(await status({ run: "one", problem: "a\0b" }), [422, "problem"]);
    assert.deepEqual(await status({ run: "one", problem: "p" }), [422, "checkpoint"]);

    Deno.mkdirSync(join(run.folder.checkpoints, "step-000003"), { recursive: true });
    assert.deepEqual(await status({ run: "one", problem: "p", checkpoint: 4 }), [
      422,
      "checkpoint",
    ]);
    const going = await ask({ run: "one", problem: "-h", checkpoint: 3 });
    assert.equal(going.headers.get("content-type"), "application/x-ndjson");
    assert.deepEqual(await status({ run: "one", problem: "p", checkpoint: 3 }), [429, undefined]);
    const [line, rest] = (await going.text()).split("\n");
    assert.equal(rest, "");
    const { type, message } = JSON.parse(line);
    assert.equal(type, "failed");
    assert.match(message, /config.yaml.*generator/);
    // It is somebody else's turn now, and whoever goes away is not waited for.
    const left = await ask({ run: "one", problem: "p", checkpoint: 3 });
    assert.equal(left.status, 200);
    await left.body?.cancel();
    let again: Response;
    while ((again = await ask({ run: "one", problem: "p", checkpoint: 3 })).status === 429) {
      await again.body?.cancel();
    }
    assert.match(await again.text(), /failed/);
  });
});

Deno.test("verify: what is being judged when the server ends is ended with it", async () => {
  await withFolder(async (root) => {
    const run = new WrittenRun(root, "one", { generator: 5 });
    Deno.mkdirSync(join(run.folder.checkpoints, "step-000003"), { recursive: true });
    const endless = join(root, "endless.ts");
    const text = '{ type: "solution", text: String(Deno.pid) }';
    Deno.writeTextFileSync(
      endless,
      `console.log(JSON.stringify(${text})); setInterval(() => {}, 9);`,
    );
    const options = { hostname: "127.0.0.1", port: 0, token: null, folders: [], root };
    const server = serve({ ...options, program: endless });
    while ((await (await fetch(`${server.url}/api/runs`)).json()).runs.length === 0);
    const { body } = await fetch(`${server.url}/api/verify`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ run: "one", problem: "p" }),
    });
    const reader = (body ?? assert.fail("no answer")).pipeThrough(new TextDecoderStream())
      .getReader();
    const { value } = await reader.read();
    const judging = identify(Number(JSON.parse(value ?? "").text));
    assert.ok(isAlive(judging));
    await server[Symbol.asyncDispose]();
    while (!(await reader.read()).done);
    assert.ok(!isAlive(judging));
  });
});
