import assert from "node:assert/strict";
import { COMMIT, FakeHub, sha256Of } from "./fake_hub.ts";
import { modelFiles, namesIn, pullFrom, someBytes, withFolder } from "./pull_from.ts";

const needed = [
  ".pulled.json",
  "config.json",
  "generation_config.json",
  "model.safetensors",
  "tokenizer.json",
  "tokenizer_config.json",
];

Deno.test("pull: takes what the engine needs of a model, byte for byte", async () => {
  await withFolder(async (folder) => {
    await using hub = new FakeHub("owner/small", modelFiles());
    const plan = await pullFrom(hub, { folder });
    assert.equal(plan.commit, COMMIT);
    assert.deepEqual(namesIn(folder), needed);
    for (const name of needed.slice(1)) {
      assert.deepEqual(Deno.readFileSync(`${folder}/${name}`), hub.files.get(name), name);
    }
  });
});

Deno.test("pull: the manifest tells commit, revision and hashes", async () => {
  await withFolder(async (folder) => {
    await using hub = new FakeHub("owner/small", modelFiles());
    await pullFrom(hub, { folder });
    const manifest = JSON.parse(Deno.readTextFileSync(`${folder}/.pulled.json`));
    assert.equal(manifest.repository, "owner/small");
    assert.equal(manifest.revision, "main");
    assert.equal(manifest.commit, COMMIT);
    const { checksum, commit } = manifest.files["model.safetensors"];
    assert.equal(commit, COMMIT);
    assert.deepEqual(checksum, { algorithm: "sha256", hex: sha256Of(someBytes(200_000)) });
    assert.equal(manifest.files["config.json"].checksum.algorithm, "git-sha1");
    assert.deepEqual(manifest.parts, {});
  });
});

Deno.test("pull: takes the shards that the index names", async () => {
  await withFolder(async (folder) => {
    const { "model.safetensors": _whole, ...others } = modelFiles();
    const shards = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
    await using hub = new FakeHub("owner/sharded", {
      ...others,
      "model.safetensors.index.json": JSON.stringify({
        weight_map: { a: shards[1], b: shards[0], c: shards[1] },
      }),
      [shards[0]]: someBytes(5000),
      [shards[1]]: someBytes(3000),
      "other.safetensors": someBytes(10),
    });
    const { files } = await pullFrom(hub, { folder });
    assert.deepEqual(
      files.map(({ path }) => path).slice(-3),
      ["model.safetensors.index.json", ...shards],
    );
    assert.ok(!namesIn(folder).includes("other.safetensors"));
  });
});

Deno.test("pull: takes an adapter and its tokenizer", async () => {
  await withFolder(async (folder) => {
    const adapter = {
      peft_type: "LORA",
      r: 8,
      lora_alpha: 16,
      target_modules: ["q_proj", "v_proj"],
      base_model_name_or_path: "owner/base",
    };
    await using hub = new FakeHub("owner/adapter", {
      "adapter_config.json": JSON.stringify(adapter),
      "adapter_model.safetensors": someBytes(100),
      "tokenizer.json": "{}",
      "README.md": "",
    });
    await pullFrom(hub, { folder });
    assert.deepEqual(namesIn(folder), [
      ".pulled.json",
      "adapter_config.json",
      "adapter_model.safetensors",
      "tokenizer.json",
    ]);
    hub.put("adapter_config.json", JSON.stringify({ ...adapter, use_dora: true }));
    await assert.rejects(
      pullFrom(hub, { folder: `${folder}-2` }),
      /owner\/adapter\/adapter_config\.json: use_dora is true; supported: false/,
    );
  });
});

const refused: readonly [what: string, change: Record<string, string | null>, message: RegExp][] = [
  [
    "an architecture that is not supported",
    { "config.json": `{"model_type": "gpt_neox"}` },
    /owner\/small\/config\.json: model_type is "gpt_neox"; supported: llama, mistral, qwen2/,
  ],
  [
    "weights that are quantised in place",
    {
      "config.json": JSON.stringify({
        ...JSON.parse(String(modelFiles()["config.json"])),
        quantization_config: { quant_method: "awq" },
      }),
    },
    /quantised \(quant_method "awq"\)/,
  ],
  [
    "weights in .bin alone",
    { "model.safetensors": null },
    /holds its weights as pytorch_model\.bin only[^]*safetensors/,
  ],
  [
    "GGUF files alone, which are listed",
    { "model.safetensors": null, "small.Q4_K_M.gguf": "GGUF", "small.Q8_0.gguf": "GGUF" },
    /name one with --file:\n {2}small\.Q4_K_M\.gguf\n {2}small\.Q8_0\.gguf/,
  ],
  ["no tokenizer", { "tokenizer.json": null }, /owner\/small has no tokenizer\.json/],
  [
    "an index that names a missing file",
    { "model.safetensors": null, "model.safetensors.index.json": `{"weight_map": {"a": "../x"}}` },
    /owner\/small has no \.\.\/x/,
  ],
];

for (const [what, change, message] of refused) {
  Deno.test(`pull: refuses ${what} before any weights were asked for`, async () => {
    await withFolder(async (folder) => {
      await using hub = new FakeHub("owner/small", modelFiles());
      for (const [path, content] of Object.entries(change)) {
        if (content === null) hub.files.delete(path);
        else hub.put(path, content);
      }
      await assert.rejects(pullFrom(hub, { folder }), (error: Error) => {
        assert.equal(error.name, "UserError");
        assert.match(error.message, message);
        return true;
      });
      assert.deepEqual(hub.asked.filter((path) => /safetensors$|bin$|gguf$/.test(path)), []);
      assert.deepEqual(namesIn(folder), []);
    });
  });
}

Deno.test("pull: --file takes that file alone, whatever the repository is", async () => {
  await withFolder(async (folder) => {
    await using hub = new FakeHub("owner/gguf", { "a.Q4.gguf": "GGUF 4", "a.Q8.gguf": "GGUF 8" });
    await pullFrom(hub, { folder, patterns: ["a.Q4.gguf"] });
    assert.deepEqual(namesIn(folder), [".pulled.json", "a.Q4.gguf"]);
    assert.deepEqual(hub.asked, ["a.Q4.gguf"]);
  });
});
