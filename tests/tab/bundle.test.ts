import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { stop } from "esbuild";
import { bundleEngine } from "../../src/tab/bundle.ts";
import { unpack } from "../../src/tab/files/archive.ts";
import { MemoryFiles } from "../../src/tab/files/memory_files.ts";
import { staticFiles } from "../../src/tab/static_files.ts";

Deno.test("tab: the static files are few and small, ask nothing of Deno, and hold what a run begins with", async () => {
  const files = await staticFiles("0123abc");
  const bytes = [...files.values()].reduce((sum, { length }) => sum + length, 0);
  // What a phone should have to load.
  assert.ok(bytes < 8e6, `${bytes} bytes`);
  const text = (path: string) => new TextDecoder().decode(files.get(path));
  for (const path of ["main.js", "model.js", "report.js", "worker.js", "measure.js"]) {
    assert.doesNotMatch(text(path), /\bDeno\.(env|read|open|build|stat)|from"node:/);
  }
  assert.match(text("worker.js"), /0123abc/);
  assert.match(text("index.html"), /src="main\.js"/);
  const memory = new MemoryFiles();
  unpack(memory, "", files.get("presets/chains.tar") ?? new Uint8Array());
  for (const path of ["configs/chains.yaml", "weights/chains/verifier/model.safetensors"]) {
    assert.deepEqual(memory.readFileSync(path), Deno.readFileSync(path));
  }
});

Deno.test("tab: modules that ask node or Deno for something are named", async () => {
  const at = (path: string) => fileURLToPath(new URL(`../../src/${path}`, import.meta.url));
  try {
    await assert.rejects(
      bundleEngine(at("data/word_problems/write_word_problems.ts"), null),
      /write_problem_files\.ts imports node:path: a tab has no node/,
    );
    await assert.rejects(
      bundleEngine(at("platform/process/reason_file.ts"), null),
      /these files ask for it: src\/platform\/process\/reason_file\.ts\. Give each/,
    );
  } finally {
    await stop();
  }
});
