/** Models on the disk as files: listed, downloaded, removed. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { PROJECT_FOLDER } from "../../src/cli/dev/project.ts";
import { serve } from "../../src/server/serve.ts";
import { Client } from "./client.ts";
import { withFolder, WrittenRun } from "./written_run.ts";

const WEIGHTS = join(PROJECT_FOLDER, "weights/last-letter/generator");

function copy(from: string, to: string): void {
  Deno.mkdirSync(to, { recursive: true });
  for (const { name } of Deno.readDirSync(from)) {
    Deno.copyFileSync(join(from, name), join(to, name));
  }
}

Deno.test("models: those on the disk say what they are, come as an archive that tar opens, and are removed unless something needs them", async () => {
  await withFolder(async (folder) => {
    const models = join(folder, "models");
    const root = join(folder, "runs");
    const tiny = join(models, "tiny");
    copy(WEIGHTS, join(models, "tiny"));
    copy(WEIGHTS, join(folder, "shipped", "kept"));
    const adapter = join(models, "adapter");
    Deno.mkdirSync(adapter);
    Deno.writeTextFileSync(
      join(adapter, "adapter_config.json"),
      JSON.stringify({
        ...{ peft_type: "LORA", r: 4, lora_alpha: 8, target_modules: ["q_proj"] },
        base_model_name_or_path: join(models, "tiny"),
      }),
    );
    // No tensors: a header of two bytes.
    const header = Uint8Array.of(2, 0, 0, 0, 0, 0, 0, 0, 0x7b, 0x7d);
    Deno.writeFileSync(join(adapter, "adapter_model.safetensors"), header);
    const run = new WrittenRun(root, "one", { generator: { model: join(models, "tiny") } });
    run.event({ type: "started", step: 0, total: 5, ranks: 1 });
    const checkpoint = join(run.folder.checkpoints, "step-000003");
    Deno.mkdirSync(checkpoint, { recursive: true });
    Deno.writeTextFileSync(join(checkpoint, "generator.safetensors"), "x".repeat(700));
    Deno.writeTextFileSync(join(checkpoint, "state.json"), "{}");
    await using server = serve({
      ...{ hostname: "127.0.0.1", port: 0, token: null, program: "none", root, models },
      folders: [join(folder, "shipped")],
    });
    const client = new Client(server.url);
    while ((await client.send("GET", "/api/runs")).answer.runs.length === 0);
    const all = async () => (await client.send("GET", "/api/models")).answer.models;
    const listed = await all();
    const facts = listed.map((one: Record<string, unknown>) => [
      ...[one.name, one.kind, one.parameters, one.base, one.isOwn, one.step],
    ]);
    const kept = join(folder, "shipped", "kept");
    assert.deepEqual(
      facts,
      [
        [adapter, "adapter", 0, tiny, true, null],
        [tiny, "model", 152000, null, true, null],
        [kept, "model", 152000, null, false, null],
        ["one/generator@3", "checkpoint", null, null, true, 3],
      ],
      JSON.stringify(facts),
    );
    assert.equal(listed[1].hasChat, false);
    assert.deepEqual(listed[3].files.length, 2);

    for (const name of [tiny, "one/generator@3"]) {
      const response = await fetch(
        `${server.url}/api/models/download?name=${encodeURIComponent(name)}`,
      );
      const bytes = new Uint8Array(await response.arrayBuffer());
      assert.equal(response.headers.get("content-length"), String(bytes.length));
      const archive = join(folder, "archive.tar");
      Deno.writeFileSync(archive, bytes);
      const { stdout } = await new Deno.Command("tar", { args: ["-tvf", archive] }).output();
      const lines = new TextDecoder().decode(stdout).trim().split("\n");
      const { files } = listed.find((one: { name: string }) => one.name === name);
      assert.equal(lines.length, files.length, lines.join("\n"));
      for (const { path, bytes } of files) {
        assert.ok(
          lines.some((line) => line.includes(` ${bytes} `) && line.endsWith(`/${path}`)),
          `${path} in ${lines.join("\n")}`,
        );
      }
    }
    for (
      const [path, body, status, field] of [
        ["evaluations", { model: "one/generator@9" }, 404, "model"],
        ["evaluations", { model: "one/generator@3", policy: "verifier" }, 422, "policy"],
        ["exports", { model: tiny }, 422, "output"],
        ["exports", { model: tiny, output: "new", asTrained: true }, 422, "asTrained"],
        ["exports", { model: "one/generator@3", asTrained: true, adapter: true }, 422, "asTrained"],
        ["exports", { model: "one/generator@3", asTrained: true, gguf: "F16" }, 422, "gguf"],
        ["exports", { model: tiny, output: "new", gguf: "Q2_K" }, 422, "gguf"],
        ["exports", { model: adapter, output: "new", gguf: "F16", adapter: true }, 422, "gguf"],
      ] as const
    ) {
      const { status: found, answer } = await client.send("POST", `/api/${path}`, body);
      assert.deepEqual([found, answer.field], [status, field], JSON.stringify(answer));
    }
    const remove = (name: string) =>
      client.send("DELETE", `/api/models?name=${encodeURIComponent(name)}`);
    assert.equal((await remove(kept)).status, 409);
    assert.equal((await remove("/etc")).status, 404);
    assert.equal((await remove(models)).status, 404);
    assert.equal((await remove("one/generator@3")).status, 204);
    const needed = await remove(tiny);
    assert.equal(needed.status, 409);
    assert.equal(needed.answer.detail, `${adapter} needs it: remove that first.`);
    assert.equal((await remove(adapter)).status, 204);
    assert.equal((await remove(tiny)).status, 204);
    assert.deepEqual((await all()).map(({ path }: { path: string }) => path), [kept]);
    assert.equal((await client.send("GET", "/api/models/download?name=/etc")).status, 404);
  });
});

Deno.test("evaluations and exports: what leads elsewhere or is there already is refused before anything is started", async () => {
  await withFolder(async (folder) => {
    const models = join(folder, "models");
    const tiny = join(models, "tiny");
    copy(WEIGHTS, tiny);
    await using server = serve({
      ...{ hostname: "127.0.0.1", port: 0, token: null, program: "none", folders: [] },
      root: join(folder, "runs"),
      models,
    });
    const client = new Client(server.url);
    for (
      const [path, body, status, field] of [
        ["evaluations", { model: "/etc" }, 422, "model"],
        ["evaluations", { model: "--help" }, 422, "model"],
        ["evaluations", { model: tiny, data: ["/etc/passwd"] }, 422, "data[0]"],
        ["evaluations", { model: tiny, k: 0 }, 422, "k"],
        ["evaluations", { model: tiny, k: 2, verifier: "/etc" }, 422, "verifier"],
        ["evaluations", { model: tiny, k: 2, verifier: true }, 422, "verifier"],
        ["evaluations", { model: tiny, critiques: 0 }, 422, "critiques"],
        ["exports", { model: "none", output: "a" }, 404, "model"],
        ["exports", { model: tiny, output: "../a" }, 422, "output"],
        ["exports", { model: tiny, output: "tiny" }, 409, "output"],
      ] as const
    ) {
      const { status: found, answer } = await client.send("POST", `/api/${path}`, body);
      assert.deepEqual([found, answer.field], [status, field], JSON.stringify(answer));
    }
    assert.deepEqual((await client.send("GET", "/api/evaluations")).answer, { jobs: [] });
    assert.equal((await client.send("GET", "/api/exports/export-001")).status, 404);
  });
});
