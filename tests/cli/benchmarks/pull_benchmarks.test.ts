/** `benchmarks pull` from a server that plays the Hub. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { stringify } from "yaml";
import { filesOf } from "../../../src/run/benchmarks/benchmark_files.ts";
import { loadSuite } from "../../../src/run/benchmarks/suite.ts";
import { FakeHub } from "../../hub/fake_hub.ts";
import { namesIn } from "../../hub/pull_from.ts";
import { runTo as run } from "../run_captured.ts";

Deno.test("benchmarks pull: the files of each benchmark alone, a repository at once", async () => {
  const folder = Deno.makeTempDirSync();
  const file = join(folder, "suite.yaml");
  const part = (name: string) => ({
    ...{ name, group: "process", repository: "own/parts", files: [`${name}.json`] },
    format: "processbench",
  });
  const sums = {
    ...{ name: "sums", group: "mathematics", repository: "own/sums", files: ["*test*"] },
    format: "math500",
  };
  const data = join(folder, "data");
  Deno.writeTextFileSync(
    file,
    stringify({ folder: data, benchmarks: [part("a"), part("b"), sums] }),
  );
  const suite = loadSuite(file);
  const areThere = async () => {
    const found = await Promise.all(suite.benchmarks.map((one) => filesOf(suite, one)));
    return found.map((files) => files?.length ?? 0);
  };
  const pull = ["benchmarks", "pull", "--suite", file];
  const { HF_ENDPOINT, HF_TOKEN } = Deno.env.toObject();
  const fetched = () => namesIn(data).filter((name) => !name.endsWith(".pulled.json"));
  try {
    await using parts = new FakeHub(
      "own/parts",
      { "a.json": "[]", "b.json": "[]", "c.json": "[]" },
      "dataset",
    );
    await using other = new FakeHub("own/sums", {
      "data/test-00000-of-00002.jsonl": "{}\n",
      "data/test-00001-of-00002.jsonl": "{}\n",
      "data/train-00000-of-00001.jsonl": "{}\n",
      "test.txt": "not read",
    }, "dataset");
    Deno.env.set("HF_ENDPOINT", parts.endpoint);
    Deno.env.set("HF_TOKEN", "");
    assert.deepEqual(await areThere(), [0, 0, 0]);
    await run(0, ...pull, "--only", "a");
    assert.deepEqual(fetched(), ["own/parts/a.json"]);
    assert.deepEqual(await areThere(), [1, 0, 0]);

    const failed = await run(2, ...pull);
    assert.match(
      failed,
      /sums: There is no data ?set own\/sums[^]*suite\.yaml says; --only passes/,
    );
    assert.deepEqual(await areThere(), [1, 1, 0]);
    assert.equal(parts.asked.length, 2, "nothing is fetched twice");

    Deno.env.set("HF_ENDPOINT", other.endpoint);
    await run(0, ...pull, "--only", "mathematics");
    assert.deepEqual(fetched(), [
      "own/parts/a.json",
      "own/parts/b.json",
      "own/sums/data/test-00000-of-00002.jsonl",
      "own/sums/data/test-00001-of-00002.jsonl",
      "own/sums/test.txt",
    ]);
    assert.deepEqual(await areThere(), [1, 1, 2]);
    Deno.removeSync(join(data, "own/sums/data/test-00001-of-00002.jsonl"));
    assert.deepEqual(await areThere(), [1, 1, 0], "one shard of two is no benchmark");

    assert.match(
      await run(2, ...pull, "--k", "2"),
      /--k goes with benchmarks run, not with benchmarks pull/,
    );
  } finally {
    if (HF_ENDPOINT === undefined) Deno.env.delete("HF_ENDPOINT");
    else Deno.env.set("HF_ENDPOINT", HF_ENDPOINT);
    if (HF_TOKEN === undefined) Deno.env.delete("HF_TOKEN");
    else Deno.env.set("HF_TOKEN", HF_TOKEN);
    Deno.removeSync(folder, { recursive: true });
  }
});
