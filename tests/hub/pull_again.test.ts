import assert from "node:assert/strict";
import { FakeHub } from "./fake_hub.ts";
import { modelFiles, namesIn, pullFrom, someBytes, withFolder } from "./pull_from.ts";

Deno.test("pull: a second call asks for no file", async () => {
  await withFolder(async (folder) => {
    await using hub = new FakeHub("owner/small", modelFiles());
    await pullFrom(hub, { folder });
    hub.seen.length = 0;
    const { missing } = await pullFrom(hub, { folder });
    assert.deepEqual(missing, []);
    assert.deepEqual(hub.asked, []);
  });
});

Deno.test("pull: without a manifest, files that are right are known by their hashes", async () => {
  await withFolder(async (folder) => {
    await using hub = new FakeHub("owner/small", modelFiles());
    await pullFrom(hub, { folder });
    Deno.removeSync(`${folder}/.pulled.json`);
    hub.seen.length = 0;
    await pullFrom(hub, { folder });
    assert.deepEqual(hub.asked, []);
    assert.ok(namesIn(folder).includes(".pulled.json"));
  });
});

Deno.test("pull: a new commit replaces what changed and nothing else", async () => {
  await withFolder(async (folder) => {
    await using hub = new FakeHub("owner/small", modelFiles());
    await pullFrom(hub, { folder });
    hub.seen.length = 0;
    hub.commit = "f".repeat(40);
    hub.put("generation_config.json", `{"eos_token_id": 4}`);
    const { commit } = await pullFrom(hub, { folder });
    assert.equal(commit, hub.commit);
    assert.deepEqual(hub.asked, ["generation_config.json"]);
    assert.match(Deno.readTextFileSync(`${folder}/generation_config.json`), /4/);
  });
});

Deno.test("pull: a file that somebody changed or put there is not replaced", async () => {
  await withFolder(async (folder) => {
    await using hub = new FakeHub("owner/small", modelFiles());
    const path = `${folder}/model.safetensors`;
    Deno.mkdirSync(folder);
    Deno.writeTextFileSync(path, "my own weights");
    await assert.rejects(pullFrom(hub, { folder }), /model\.safetensors is there already.*--to/);
    assert.equal(Deno.readTextFileSync(path), "my own weights");
    Deno.removeSync(path);
    await pullFrom(hub, { folder });
    Deno.writeTextFileSync(`${folder}/tokenizer.json`, "[]"); // of the same length
    Deno.utimeSync(`${folder}/tokenizer.json`, 0, 0);
    await assert.rejects(pullFrom(hub, { folder }), /tokenizer\.json is there already/);
    assert.equal(Deno.readTextFileSync(`${folder}/tokenizer.json`), "[]");
  });
});

Deno.test("pull: a folder holds one repository", async () => {
  await withFolder(async (folder) => {
    await using hub = new FakeHub("owner/small", modelFiles());
    await pullFrom(hub, { folder });
    await using other = new FakeHub("other/small", { "a.gguf": someBytes(10) });
    await assert.rejects(
      pullFrom(other, { folder, patterns: ["*.gguf"] }),
      /holds the model owner\/small; name another folder for the model other\/small with --to/,
    );
    Deno.writeTextFileSync(`${folder}/.pulled.json`, "{");
    await assert.rejects(pullFrom(hub, { folder }), /\.pulled\.json is not what .* Remove it/);
  });
});
