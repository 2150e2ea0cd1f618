/** From a run to a model of its own: exported, measured, asked by its path though the server was not started with it. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { PROJECT_FOLDER } from "../../../src/cli/dev/project.ts";
import { serve } from "../../../src/server/serve.ts";
import { Client, program } from "../client.ts";
import { withFolder } from "../written_run.ts";

Deno.test("models on the disk: an exported one is measured and asked by its path, and removed while nobody asks it", async () => {
  await withFolder(async (folder) => {
    const weights = join(PROJECT_FOLDER, "weights");
    await using server = serve({
      ...{ hostname: "127.0.0.1", port: 0, token: null, program, folders: [weights] },
      root: join(folder, "runs"),
      models: join(folder, "models"),
    });
    const client = new Client(server.url);
    const done = async (path: string, body: object) => {
      const { status, answer: begun } = await client.send("POST", `/api/${path}`, body);
      assert.equal(status, 202, JSON.stringify(begun));
      for (;;) {
        const { answer } = await client.send("GET", `/api/${path}/${begun.name}`);
        if (answer.state === "running") continue;
        assert.equal(answer.state, "done", JSON.stringify(answer));
        return answer;
      }
    };
    const source = join(weights, "last-letter/generator");
    const exported = await done("exports", { model: source, output: "mine", dtype: "float32" });
    const path = join(folder, "models/mine");
    assert.equal(exported.request.path, path);
    const measured = await done("evaluations", { model: path, preset: "last-letter", problems: 2 });
    const { problems, metrics } = JSON.parse(measured.output);
    assert.equal(problems, 2);
    assert.ok(Object.keys(metrics).length > 0);
    const chosen = await done("evaluations", {
      ...{ model: path, preset: "last-letter", problems: 2, k: 2, critiques: 2, rewrites: 1 },
      verifier: join(weights, "last-letter/verifier"),
    });
    const names = Object.keys(JSON.parse(chosen.output).metrics).join();
    for (const part of ["bon_at_2", "vote_at_2", "rewrit"]) assert.match(names, new RegExp(part));

    const ask = (route: string, body: object) =>
      client.send("POST", `/v1/${route}`, { model: path, max_tokens: 4, temperature: 0, ...body });
    const { status, answer } = await ask("completions", { prompt: "Q: cat" });
    assert.equal(status, 200, JSON.stringify(answer));
    assert.equal(answer.model, path);
    const chat = await ask("chat/completions", { messages: [{ role: "user", content: "cat" }] });
    assert.equal(chat.status, 400);
    assert.match(chat.answer.error.message, /has no chat template; ask \/v1\/completions/);
    const remove = await client.send("DELETE", `/api/models?name=${encodeURIComponent(path)}`);
    assert.equal(remove.status, 204, JSON.stringify(remove.answer));
    assert.equal((await ask("completions", { prompt: "Q: cat" })).status, 404);
  });
});
