import assert from "node:assert/strict";
import { ownProcess } from "../../../src/platform/process/process_identity.ts";
import { readControlFile } from "../../../src/run/control/endpoint/control_file.ts";
import { LiveMemory } from "../../../src/server/runs/live_memory.ts";
import type { RunList } from "../../../src/server/runs/run_list.ts";
import { withFolder, WrittenRun } from "../written_run.ts";

Deno.test("live memory: what cannot be a socket is not asked, and an error in asking ends nobody", async () => {
  await withFolder(async (root) => {
    const { folder } = new WrittenRun(root, "one");
    const found = (socket: string) => {
      Deno.writeTextFileSync(folder.control, JSON.stringify({ process: ownProcess(), socket }));
      return readControlFile(folder)?.socket;
    };
    assert.equal(found("/tmp/socket"), "/tmp/socket");
    assert.equal(found("é".repeat(53)), "é".repeat(53));
    for (const none of ["", "é".repeat(54), "a\0b"]) assert.equal(found(none), undefined);
    const { error } = console;
    const said = Promise.withResolvers<string>();
    console.error = (text: string) => said.resolve(text);
    try {
      // Deno takes it for a mistake of the program's.
      const live = { process: ownProcess(), socket: "", since: "" };
      const all = [{ name: "one", comparison: null, live }];
      using memory = new LiveMemory({ all } as unknown as RunList);
      assert.match(await said.promise, /one cannot be asked/);
      assert.equal(memory.of("one"), null);
    } finally {
      console.error = error;
    }
  });
});
