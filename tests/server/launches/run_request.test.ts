import assert from "node:assert/strict";
import { join } from "node:path";
import { loadSftConfig, loadTangoConfig } from "../../../src/run/config/load_config.ts";
import { listPresets } from "../../../src/server/launches/presets.ts";
import { prepareRun, type RunRequest } from "../../../src/server/launches/run_request.ts";
import { serve } from "../../../src/server/serve.ts";
import { Client } from "../client.ts";
import { withFolder, WrittenRun } from "../written_run.ts";

const options = { hostname: "127.0.0.1", port: 0, token: null, program: "none" };

Deno.test("start: all that is wrong with a request is said at once", async () => {
  await withFolder(async (root) => {
    await using server = serve({ ...options, root, folders: ["configs"] });
    const client = new Client(server.url);
    const { status, answer } = await client.send("POST", "/api/runs", {
      kind: "train",
      preset: "last-letter",
      ranks: 2,
      gpuIndex: 0,
      configuration: {
        seed: "x",
        rollout: { batch_sise: 2, group_size: 0 },
        generator: { model: "/etc" },
      },
    });
    assert.equal(status, 422);
    const fields = answer.errors.map(({ field }: { field?: string }) => field);
    assert.deepEqual(
      new Set(fields),
      new Set([
        "gpuIndex",
        "seed",
        "rollout.batch_sise",
        "rollout.group_size",
        "generator.model",
        "verifier.model",
      ]),
      JSON.stringify(answer),
    );
    const form = await client.send("POST", "/api/runs", { kind: "train", steps: -1, ranks: 0 });
    assert.deepEqual(form.answer.errors.map(({ field }: { field: string }) => field), [
      "steps",
      "ranks",
    ]);
    assert.equal(listPresets()[0].name, "chains");
  });
});

Deno.test("start: a fine-tuning of a preset leaves the weights that came with the program as they are", async () => {
  await withFolder((root) => {
    const folders = { files: ["configs", "weights", "data", "models"], code: [] };
    const output = (request: Partial<RunRequest>) => {
      const { written, options } = prepareRun({ kind: "sft", ...request }, root, folders);
      const path = join(root, "prepared.yaml");
      Deno.writeTextFileSync(path, written);
      const set = options.filter((option) => option !== "--set");
      return loadSftConfig(path, { set }).output_directory;
    };
    for (const { name, kind, configuration } of listPresets()) {
      assert(!("output_directory" in configuration), name);
      if (kind === "sft") assert.equal(output({ preset: name }), null, name);
    }
    assert.equal(output({}), null);
    // Who wants to, says so.
    assert.equal(output({ set: ["output_directory=weights/mine"] }), "weights/mine");
    const configuration = { output_directory: "weights/mine" };
    assert.equal(output({ preset: "arithmetic-generator-sft", configuration }), "weights/mine");
  });
});

Deno.test("start: a run's own request starts it again, and settings that cannot change are refused", async () => {
  await withFolder(async (root) => {
    const config = loadTangoConfig("configs/last-letter.yaml", { run: "runs/elsewhere" });
    const run = new WrittenRun(root, "one", config);
    run.event({ type: "started", step: 0, total: 5, ranks: 1 });
    await using server = serve({ ...options, root, folders: ["configs", "weights"] });
    const client = new Client(server.url);
    while ((await client.send("GET", "/api/runs/one/request")).status !== 200);
    const { answer } = await client.send("GET", "/api/runs/one/request");
    const folders = { files: ["configs", "weights"], code: [] };
    const again = { ...answer, configuration: { ...answer.configuration, seed: 5 } };
    const { written, place, kind } = prepareRun(again, root, folders);
    assert.deepEqual([kind, place], ["train", null]);
    Deno.writeTextFileSync(join(root, "again.yaml"), written);
    const loaded = loadTangoConfig(join(root, "again.yaml"));
    assert.deepEqual(loaded, { ...config, run_directory: null, seed: 5 });

    const resume = (settings: object) => client.send("POST", "/api/runs/one/resume", { settings });
    const refused = await resume({ "rollout.batch_size": 3 });
    assert.deepEqual([refused.status, refused.answer.field], [422, "settings"]);
    assert.match(refused.answer.detail, /rollout\.batch_size cannot change/);
    const wrong = await resume({ "generator.optimizer.learning_rate": "high" });
    assert.match(wrong.answer.detail, /learning_rate is "high"; expected a number/);
  });
});

Deno.test("start: files that are not there are said all at once where that is asked, each with how to come by it", async () => {
  await withFolder(async (root) => {
    await using server = serve({ ...options, root, folders: ["configs", "weights", "data"] });
    const client = new Client(server.url);
    const { status, answer } = await client.send("POST", "/api/runs", {
      ...{ kind: "train", preset: "qwen2.5-0.5b", requireFiles: true },
      set: ["seed=x"],
      configuration: { generator: { model: "weights/last-letter/generator" } },
    });
    assert.equal(status, 422);
    const gsm8k = { pull: { kind: "dataset", id: "openai/gsm8k", files: ["main/*"] } };
    const told = Object.fromEntries(
      answer.errors.map((one: { field: string; remedy?: object }) => [one.field, one.remedy]),
    );
    assert.deepEqual(told, {
      seed: undefined,
      "data.train[0].path": gsm8k,
      "data.held_out[0].path": gsm8k,
      "verifier.model": { pull: { kind: "model", id: "Qwen/Qwen2.5-0.5B", files: [] } },
    });
    // The preset's own model is what another preset leaves; alone it is said with its remedy too.
    const own = await client.send("POST", "/api/runs", {
      ...{ kind: "train", preset: "qwen2.5-0.5b", requireFiles: true },
      configuration: { data: null, verifier: null, task: { name: "last-letter" } },
    });
    assert.deepEqual(
      own.answer.errors?.map((one: { remedy?: object }) => one.remedy),
      [{ preset: "qwen2.5-0.5b-sft" }],
      JSON.stringify(own.answer),
    );
  });
});
