import assert from "node:assert/strict";
import { join } from "node:path";
import { serve } from "../../src/server/serve.ts";
import { FakeHub } from "../hub/fake_hub.ts";
import { modelFiles } from "../hub/pull_from.ts";
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
      assert.deepEqual(await known(), { models: [], pulls: [] });
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
