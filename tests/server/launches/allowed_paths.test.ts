import assert from "node:assert/strict";
import { join } from "node:path";
import {
  type AllowedFolders,
  requireAllowedPaths,
} from "../../../src/server/launches/allowed_paths.ts";
import { serve } from "../../../src/server/serve.ts";
import { FakeHub } from "../../hub/fake_hub.ts";
import { modelFiles } from "../../hub/pull_from.ts";
import { Client } from "../client.ts";
import { withFolder } from "../written_run.ts";

const MODULE = "export default () => 1;\n";

/** Folders of all kinds, and what lies in them. */
function writeFolders(folder: string) {
  const place = (path: string) => join(folder, path);
  for (const name of ["runs", "models/x", "rewards/inner", "big", "outside"]) {
    Deno.mkdirSync(place(name), { recursive: true });
  }
  for (
    const name of [
      ...["rewards/a.ts", "models/x/a.ts", "models/x/a.txt", "runs/a.ts", "big/a.ts"],
      ...["rewards/inner/a.ts", "outside/a.ts", "a.ts"],
    ]
  ) Deno.writeTextFileSync(place(name), MODULE);
  Deno.symlinkSync(place("models/x"), place("rewards/linked"));
  Deno.symlinkSync(place("models/x/a.txt"), place("rewards/link.ts"));
  Deno.symlinkSync(place("outside/none"), place("big/nowhere"));
  Deno.symlinkSync(place("rewards"), place("big/code"));
  return place;
}

Deno.test("allowed paths: data is not executed and code is not written, whatever links there are", async () => {
  await withFolder((folder) => {
    const place = writeFolders(folder);
    const isTaken = (configuration: object, folders: AllowedFolders) => {
      try {
        requireAllowedPaths(configuration, folders);
        return true;
      } catch (error) {
        const [key] = Object.keys(configuration);
        assert.ok((error as Error).message.startsWith(key), (error as Error).message);
        return false;
      }
    };
    const folders = {
      files: ["runs", "models", "", "rewards/inner"].map(place),
      code: [place("rewards")],
    };
    const module = (path: string, of = folders) => isTaken({ module: place(path) }, of);
    assert.equal(module("rewards/a.ts"), true);
    for (
      const path of [
        ...["models/x/a.ts", "runs/a.ts", "big/a.ts", "a.ts", "outside/a.ts", "none.ts"],
        ...["rewards/../a.ts", "rewards/linked/a.ts", "rewards/link.ts", "rewards/inner/a.ts"],
      ]
    ) assert.equal(module(path), false, path);
    const output = (path: string) => isTaken({ output_directory: place(path) }, folders);
    assert.deepEqual(["big", "models/new", "rewards/inner/new"].map(output), [true, true, true]);
    assert.deepEqual(
      ["rewards", "rewards/new", "big/code/new", "big/nowhere", "big/nowhere/x"].map(output),
      [false, false, false, false, false],
    );
    // All but what is data.
    const all = { files: [place("models")], code: [folder] };
    assert.deepEqual([module("a.ts", all), module("models/x/a.ts", all)], [true, false]);
    assert.equal(isTaken({ model: "/etc/hostname" }, { files: ["/"], code: [] }), true);
  });
});

Deno.test("serve: what is fetched is never executed, and code is taken from --allow-code alone", async () => {
  await withFolder(async (folder) => {
    const place = writeFolders(folder);
    await using hub = new FakeHub("owner/evil", { ...modelFiles(), "reward.ts": MODULE });
    Deno.env.set("HF_ENDPOINT", hub.endpoint);
    const options = {
      ...{ hostname: "127.0.0.1", port: 0, token: null, program: "none", models: place("models") },
      ...{
        root: place("runs"),
        checkpoints: place("checkpoints"),
        folders: [folder, "configs", "weights"],
      },
    };
    for (const code of ["models/x", "runs/one", "checkpoints", "none", "rewards/linked"]) {
      if (code === "runs/one") Deno.mkdirSync(place(code));
      const refused = () => serve({ ...options, codeFolders: [place(code)] });
      assert.throws(refused, /is written to|no such folder/, code);
    }
    assert.throws(() => serve({ ...options, root: place("models") }), /--runs .* lies in/);
    try {
      await using server = serve({ ...options, codeFolders: [place("rewards")] });
      const client = new Client(server.url);
      const asked = { id: "owner/evil", files: ["*.ts"] };
      assert.equal((await client.send("POST", "/api/models/pull", asked)).status, 202);
      const view = async () => (await client.send("GET", "/api/models")).answer.pulls[0];
      while ((await view()).state === "running");
      assert.match((await view()).error, /a program reward\.ts; only data is fetched/);
      assert.deepEqual(hub.asked, []);
      // A run in a folder of its own choice is refused too, but after its paths.
      const start = (path: string) =>
        client.send("POST", "/api/runs", {
          kind: "train",
          set: [`rewards.module=${place(path)}`, "run_directory=x"],
        });
      for (const path of ["models/x/a.ts", "a.ts", "rewards/link.ts"]) {
        const { status, answer } = await start(path);
        assert.deepEqual([status, answer.field], [422, "rewards.module"], path);
        assert.match(answer.detail, /--allow-code FOLDER/);
      }
      assert.equal((await start("rewards/a.ts")).answer.field, "run_directory");
    } finally {
      Deno.env.delete("HF_ENDPOINT");
    }
  });
});
