import assert from "node:assert/strict";
import { FakeHub } from "./fake_hub.ts";
import { namesIn, pullFrom, withFolder } from "./pull_from.ts";

const files = {
  "README.md": "# Rows\n",
  "dataset_infos.json": "{}",
  ".hidden/rows.jsonl": "{}\n",
  "main/train-00000.parquet": "PAR1 train",
  "main/test-00000.parquet": "PAR1 test",
  "extra/rows.jsonl.gz": "packed",
  "extra/rows.csv": "a,b\n",
  "loader.py": "print()",
};

const choices: readonly [what: string, patterns: readonly string[], names: readonly string[]][] = [
  [
    "data files alone",
    [],
    [
      "extra/rows.csv",
      "extra/rows.jsonl.gz",
      "main/test-00000.parquet",
      "main/train-00000.parquet",
    ],
  ],
  ["a name in any folder", ["train*.parquet"], ["main/train-00000.parquet"]],
  ["a folder", ["extra/*"], ["extra/rows.csv", "extra/rows.jsonl.gz"]],
  [
    "several patterns, each file once",
    ["**/*.csv", "rows.*", "dataset_infos.json"],
    ["dataset_infos.json", "extra/rows.csv", "extra/rows.jsonl.gz"],
  ],
];

for (const [what, patterns, names] of choices) {
  Deno.test(`pull a data set: ${what}`, async () => {
    await withFolder(async (folder) => {
      await using hub = new FakeHub("owner/rows", files, "dataset");
      await pullFrom(hub, { folder, kind: "dataset", patterns });
      assert.deepEqual(namesIn(folder), [".pulled.json", ...names]);
      assert.ok(hub.seen.slice(1).every(({ path }) => path.startsWith("/datasets/owner/rows/")));
    });
  });
}

Deno.test("pull a data set: a pattern that matches nothing shows what there is", async () => {
  await withFolder(async (folder) => {
    await using hub = new FakeHub("owner/rows", files, "dataset");
    await assert.rejects(
      pullFrom(hub, { folder, kind: "dataset", patterns: ["*.txt"] }),
      /--file \*\.txt matches nothing in owner\/rows\. It holds:\n[^]*main\/train-00000\.parquet/,
    );
    await using other = new FakeHub("owner/rows", { "loader.py": "" }, "dataset");
    await assert.rejects(
      pullFrom(other, { folder, kind: "dataset" }),
      /holds no \.parquet.* It holds:\n {2}loader\.py/,
    );
    assert.deepEqual(namesIn(folder), []);
  });
});

Deno.test("pull a data set: another call adds files to the folder", async () => {
  await withFolder(async (folder) => {
    await using hub = new FakeHub("owner/rows", files, "dataset");
    await pullFrom(hub, { folder, kind: "dataset", patterns: ["train*"] });
    hub.seen.length = 0;
    await pullFrom(hub, { folder, kind: "dataset", patterns: ["main/*"] });
    assert.deepEqual(hub.asked, ["main/test-00000.parquet"]);
  });
});
