import assert from "node:assert/strict";
import { join } from "node:path";
import { serve } from "../../../src/server/serve.ts";
import { Client } from "../client.ts";
import { withFolder, WrittenRun } from "../written_run.ts";

Deno.test("runs: tags and notes are kept in a run's folder, and runs are found and sorted by them", async () => {
  await withFolder(async (root) => {
    const options = { hostname: "127.0.0.1", port: 0, token: null, folders: [], program: "none" };
    for (const name of ["one", "two", "three"]) {
      new WrittenRun(root, name, { generator: 5 }).event({
        ...{ type: "started", step: 0, total: 5, ranks: 1 },
      });
    }
    {
      await using server = serve({ ...options, root });
      const client = new Client(server.url);
      while ((await client.send("GET", "/api/runs")).answer.runs.length < 3);
      const tagged = await client.send("PATCH", "/api/runs/two", { tags: ["best", "paper"] });
      assert.deepEqual([tagged.status, tagged.answer.tags], [200, ["best", "paper"]]);
      await client.send("PATCH", "/api/runs/two", { note: "Lower learning rate" });
      await client.send("PATCH", "/api/runs/three", { tags: ["paper"] });
      for (
        const [body, status, field] of [
          [{ tags: [""] }, 422, "tags[0]"],
          [{ note: 5 }, 422, "note"],
          [{ other: 5 }, 422, undefined],
        ] as const
      ) {
        const { status: found, answer } = await client.send("PATCH", "/api/runs/two", body);
        assert.deepEqual([found, answer.field], [status, field]);
      }
      assert.equal((await client.send("PATCH", "/api/runs/none", { note: "" })).status, 404);
    }
    Deno.writeTextFileSync(join(root, "three", "notes.json"), "{");
    await using server = serve({ ...options, root });
    const client = new Client(server.url);
    while ((await client.send("GET", "/api/runs")).answer.runs.length < 3);
    const found = async (query: string) => {
      const { answer } = await client.send("GET", `/api/runs?${query}`);
      return answer.runs.map(({ id }: { id: string }) => id);
    };
    assert.deepEqual(await found("search=learning"), ["two"]);
    assert.deepEqual(await found("search=PAPER"), ["two"]);
    assert.deepEqual(await found("tag=best"), ["two"]);
    assert.deepEqual(await found("sort=id"), ["one", "three", "two"]);
    assert.deepEqual(await found("sort=id&order=descending&state=lost"), ["two", "three", "one"]);
    assert.deepEqual(await found("kind=sft"), []);
    const { answer } = await client.send("GET", "/api/runs/two");
    assert.deepEqual([answer.note, answer.tags], ["Lower learning rate", ["best", "paper"]]);
  });
});
