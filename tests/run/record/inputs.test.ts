import assert from "node:assert/strict";
import { join } from "node:path";
import { configurationParts, digestOfInput } from "../../../src/run/record/inputs.ts";
import { tinyPolicies } from "../tiny_policies.ts";

const row = (answer: number) => `{"question":"q","answer":"${answer}"}\n`;

async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = Deno.makeTempDirSync();
  try {
    await body(folder);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

Deno.test("inputs: of a data folder all that is read counts, below it and behind links, and nothing else", async () => {
  await withFolder(async (folder) => {
    const data = join(folder, "data"), elsewhere = join(folder, "elsewhere");
    for (const path of [join(data, "main"), elsewhere]) Deno.mkdirSync(path, { recursive: true });
    Deno.writeTextFileSync(join(data, "main", "train.jsonl"), row(1));
    Deno.writeTextFileSync(join(elsewhere, "more.jsonl"), row(2));
    Deno.symlinkSync(elsewhere, join(data, "linked"));
    const digest = () => digestOfInput({ kind: "data", path: data });
    const before = await digest();
    Deno.writeTextFileSync(join(data, "LICENSE"), "as you like");
    assert.equal(await digest(), before);
    Deno.writeTextFileSync(join(data, "main", "train.jsonl"), row(3));
    const changed = await digest();
    assert.notEqual(changed, before);
    Deno.writeTextFileSync(join(elsewhere, "more.jsonl"), row(4));
    assert.notEqual(await digest(), changed);
    // Where the folder lies does not count.
    Deno.renameSync(data, join(folder, "moved"));
    const moved = await digestOfInput({ kind: "data", path: join(folder, "moved") });
    Deno.renameSync(join(folder, "moved"), data);
    assert.equal(moved, await digest());
  });
});

Deno.test("inputs: of a model folder what is loaded counts", async () => {
  await withFolder(async (folder) => {
    for (const { name } of Deno.readDirSync(tinyPolicies.generator)) {
      Deno.copyFileSync(join(tinyPolicies.generator, name), join(folder, name));
    }
    const digest = () => digestOfInput({ kind: "model", path: folder });
    const before = await digest();
    assert.equal(await digestOfInput({ kind: "model", path: tinyPolicies.generator }), before);
    Deno.writeTextFileSync(join(folder, "README.md"), "a model");
    assert.equal(await digest(), before);
    const file = join(folder, "tokenizer_config.json");
    Deno.writeTextFileSync(file, `${Deno.readTextFileSync(file)} `);
    assert.notEqual(await digest(), before);
  });
});

Deno.test("inputs: where a run lies is no part of its configuration's digests", async () => {
  await withFolder((folder) => {
    const parts = (text: string) => {
      Deno.writeTextFileSync(join(folder, "config.yaml"), text);
      return configurationParts(join(folder, "config.yaml"));
    };
    const before = parts("seed: 1\nrun_directory: here\nloss: {kl_coefficient: 0}\n");
    assert.deepEqual(Object.keys(before), ["config.seed", "config.loss"]);
    assert.deepEqual(parts("seed: 1\nrun_directory: there\nloss: {kl_coefficient: 0}\n"), before);
    const other = parts("seed: 1\nloss: {kl_coefficient: 0.1}\n");
    assert.equal(other["config.seed"], before["config.seed"]);
    assert.notEqual(other["config.loss"], before["config.loss"]);
    return Promise.resolve();
  });
});
