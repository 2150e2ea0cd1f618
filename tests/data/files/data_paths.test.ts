import assert from "node:assert/strict";
import { findDataFiles } from "../../../src/data/files/data_paths.ts";
import { FIXTURES, messageOf, readRows, withFiles } from "./data_folder.ts";

Deno.test("a directory is read recursively in sorted order; other files are passed over", async () => {
  const files = {
    "b.jsonl": '{"n": 3}',
    "a/z.json": '{"n": 1}',
    "a/deep/y.csv": "n\n0\n",
    "c.jsonl": '{"n": 4}',
    "README.md": "text",
    "dataset_infos.json": "{}",
    ".hidden.jsonl": "not JSON",
    ".cache/x.jsonl": "not JSON",
  };
  await withFiles(files, async (folder) => {
    for (const path of [folder, `${folder}/`]) {
      assert.deepEqual(await readRows(path), [{ n: "0" }, { n: 1 }, { n: 3 }, { n: 4 }]);
    }
    const name = folder.split("/").at(-1);
    const sources = (await findDataFiles(folder)).map(({ defaultSource }) => defaultSource);
    assert.deepEqual(sources, ["a/deep", "a", name, name]);
    const [file] = await findDataFiles(`${folder}/a/deep/y.csv`);
    assert.equal(file.defaultSource, "y");
  });
});

Deno.test("the folders of MATH are its sources", async () => {
  const files = await findDataFiles(`${FIXTURES}/math`);
  assert.deepEqual(files.map(({ defaultSource }) => defaultSource), ["algebra", "geometry"]);
});

Deno.test("links are followed, once each", async () => {
  await withFiles({ "blobs/0": '{"n": 1}', "set/rows/a.jsonl": '{"n": 2}' }, async (folder) => {
    await Deno.symlink(`${folder}/blobs/0`, `${folder}/set/train.jsonl`);
    await Deno.symlink(`${folder}/set`, `${folder}/set/rows/again`);
    assert.deepEqual(await readRows(`${folder}/set`), [{ n: 2 }, { n: 1 }]);
    await Deno.symlink(`${folder}/nowhere`, `${folder}/set/gone.jsonl`);
    const message = await messageOf(() => readRows(`${folder}/set`));
    assert.match(message, /set\/gone\.jsonl: there is no such file or directory/);
  });
});

Deno.test("what cannot be read is said, with the endings that can", async () => {
  await withFiles({ "a.txt": "x", "empty/b.md": "x" }, async (folder) => {
    assert.match(
      await messageOf(() => readRows(`${folder}/a.txt`)),
      /a\.txt: expected a file that ends in \.jsonl, .*\.csv\.gz, .*\.parquet\. Rename or convert it\.$/,
    );
    assert.match(
      await messageOf(() => readRows(`${folder}/empty`)),
      /empty: found no data file in this directory or below it; expected files that end in \.jsonl/,
    );
    assert.match(
      await messageOf(() => readRows(`${folder}/none.csv`)),
      /none\.csv: there is no such file or directory \(looked from .*\)\. Check the path\.$/,
    );
  });
});
