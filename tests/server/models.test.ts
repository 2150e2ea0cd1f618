import assert from "node:assert/strict";
import { join } from "node:path";
import { serve } from "../../src/server/serve.ts";
import { findModels } from "../../src/server/models/found_models.ts";
import { FakeHub } from "../hub/fake_hub.ts";
import { modelFiles } from "../hub/pull_from.ts";
import { Client } from "./client.ts";
import { breath, withFolder } from "./written_run.ts";

Deno.test("serve: a model is fetched, listed then, and a name that is none is refused", async () => {
  await withFolder(async (folder) => {
    await using hub = new FakeHub("owner/small", modelFiles());
    Deno.env.set("HF_ENDPOINT", hub.endpoint);
    try {
      const models = join(folder, "models");
      await using server = serve({
        ...{ hostname: "127.0.0.1", port: 0, token: null, program: "none" },
        root: join(folder, "runs"),
        folders: [models],
        models,
      });
      const known = async () => {
        await breath();
        return await (await fetch(`${server.url}/api/models`)).json();
      };
      const fetchModel = async (id: string) => {
        const response = await fetch(`${server.url}/api/models/pull`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ id }),
        });
        return { status: response.status, answer: await response.json() };
      };
      assert.deepEqual(await known(), { models: [], unread: [], pulls: [] });
      assert.equal((await fetchModel("../small")).status, 422);
      const { status, answer } = await fetchModel("owner/small");
      assert.deepEqual([status, answer.state], [202, "running"]);
      await fetchModel("owner/none");
      const state = async (id: string) =>
        (await known()).pulls.find((pull: { id: string }) => pull.id === id);
      while ((await state("owner/small")).state === "running");
      while ((await state("owner/none")).state === "running");
      const { state: end, arrived, total } = await state("owner/small");
      assert.deepEqual([end, arrived], ["done", total]);
      assert.match((await state("owner/none")).error, /owner\/none/);
      const { models: [found] } = await known();
      assert.deepEqual([found.path, found.kind], [join(models, "small"), "model"]);
      assert.deepEqual([found.name, found.isOwn], [found.path, true]);
      assert.ok(found.bytes > 0);
    } finally {
      Deno.env.delete("HF_ENDPOINT");
    }
  });
});

Deno.test("serve: of two models of one name each has its folder, also when they are fetched at once", async () => {
  await withFolder(async (folder) => {
    const files = { "a.gguf": "GGUF a", "b.gguf": "GGUF b" };
    await using hub = new FakeHub("one/x", files);
    await using other = new FakeHub("two/x", files);
    const { promise, resolve } = Promise.withResolvers<void>();
    hub.intercept = (request) =>
      request.url.includes("two/x")
        ? Response.redirect(other.endpoint + new URL(request.url).pathname)
        : null;
    // The first one is not through before the second has begun.
    hub.misbehave = (_, content) =>
      new Response(
        new ReadableStream({
          async start(controller) {
            await promise;
            controller.enqueue(content);
            controller.close();
          },
        }),
      );
    Deno.env.set("HF_ENDPOINT", hub.endpoint);
    try {
      const models = join(folder, "models");
      await using server = serve({
        ...{ hostname: "127.0.0.1", port: 0, token: null, program: "none" },
        ...{ root: join(folder, "runs"), folders: [], models },
      });
      const client = new Client(server.url);
      const begin = async (id: string) => {
        const asked = { id, files: ["*.gguf"] };
        return (await client.send("POST", "/api/models/pull", asked)).answer;
      };
      const until = async (id: string) => {
        for (;;) {
          const { answer } = await client.send("GET", "/api/models");
          const pull = answer.pulls.find((pull: { id: string }) => pull.id === id);
          if (pull.state !== "running") return [pull.state, pull.path, pull.error];
        }
      };
      const [x, other] = [join(models, "x"), join(models, "two/x")];
      assert.equal((await begin("one/x")).path, x);
      assert.equal((await begin("two/x")).path, other);
      assert.equal((await begin("x")).status, 409);
      resolve();
      assert.deepEqual(await until("one/x"), ["done", x, null]);
      assert.deepEqual(await until("two/x"), ["done", other, null]);
      assert.equal((await begin("one/x")).path, x);
      assert.equal((await begin("two/x")).path, other);
      await until("one/x");
      await until("two/x");
    } finally {
      Deno.env.delete("HF_ENDPOINT");
    }
  });
});

Deno.test("models: what cannot be looked into is told, and the rest is listed", async () => {
  await withFolder((folder) => {
    const model = join(folder, "models/a.gguf");
    Deno.mkdirSync(join(folder, "models/closed"), { recursive: true });
    Deno.writeTextFileSync(model, "GGUF");
    Deno.chmodSync(join(folder, "models/closed"), 0);
    try {
      // Permissions do not hold root up, but a file is no folder to anybody.
      const closed = Deno.uid() === 0 ? [] : [join(folder, "models/closed")];
      const folders = [model, join(folder, "models"), folder, join(folder, "none")];
      const { models, unread } = findModels(folders);
      assert.deepEqual(models, [{ path: model, kind: "gguf", bytes: 4 }]);
      assert.deepEqual(unread.map(({ path }) => path), [model, ...closed]);
      assert.match(unread[0].reason, /Not a directory/);
    } finally {
      Deno.chmodSync(join(folder, "models/closed"), 0o700);
    }
  });
});
