import assert from "node:assert/strict";
import { archiveOf, firstOf, unpack } from "../../../src/tab/files/archive.ts";
import { MemoryFiles } from "../../../src/tab/files/memory_files.ts";

Deno.test("archive: what a folder holds comes back, and the first file is read from the beginning", () => {
  const files = new MemoryFiles();
  files.mkdirSync("/a/run/weights", { recursive: true });
  files.writeFileSync("/a/run/weights/model", Uint8Array.from({ length: 5000 }, (_, at) => at));
  files.writeFileSync("/a/run/log", new TextEncoder().encode("words"));
  const tar = archiveOf(files, "/a/run", { first: { name: "standing.json", text: `{"step":3}` } });
  assert.deepEqual(firstOf(tar.subarray(0, 4096)), { name: "standing.json", text: `{"step":3}` });
  const back = new MemoryFiles();
  unpack(back, "/b", tar);
  assert.deepEqual([...back.filesBelow("/b/run")], [...files.filesBelow("/a/run")]);
  unpack(back, "/c", archiveOf(files, "/a/run", { isNamed: false }));
  assert.deepEqual([...back.filesBelow("/c")], [...files.filesBelow("/a/run")]);
});

Deno.test("archive: a file that was begun to be written has no first file", () => {
  for (const bytes of [new Uint8Array(), new Uint8Array(100), new Uint8Array(4096)]) {
    assert.throws(() => firstOf(bytes), /no file/);
  }
});

Deno.test("archive: tar reads it", async () => {
  const files = new MemoryFiles();
  files.mkdirSync("/run");
  files.writeFileSync("/run/log", new TextEncoder().encode("words"));
  const folder = Deno.makeTempDirSync();
  try {
    Deno.writeFileSync(`${folder}/run.tar`, archiveOf(files, "/run"));
    const { success } = await new Deno.Command("tar", { args: ["xf", "run.tar"], cwd: folder })
      .output();
    assert.ok(success);
    assert.equal(Deno.readTextFileSync(`${folder}/run/log`), "words");
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});
