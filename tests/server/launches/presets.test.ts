import assert from "node:assert/strict";
import { join } from "node:path";
import { listPresets } from "../../../src/server/launches/presets.ts";
import { withFolder } from "../written_run.ts";

Deno.test("presets: a broken one is left out, which is said once, and the others are there", async () => {
  const { error } = console;
  const said: string[] = [];
  console.error = (text: string) => void said.push(text);
  try {
    await withFolder((folder) => {
      const write = (name: string, text: string) =>
        Deno.writeTextFileSync(join(folder, `${name}.yaml`), text);
      write("broken", "a: [1");
      write("empty", "");
      write("list", "- 1");
      write("well", "# Works.\npolicy: generator\n");
      const names = () => listPresets(folder).map(({ name, kind }) => [name, kind]);
      assert.deepEqual(names(), [["empty", "train"], ["well", "sft"]]);
      assert.deepEqual(names(), [["empty", "train"], ["well", "sft"]]);
      assert.equal(said.length, 2);
      assert.match(
        said.sort()[0],
        /^The preset broken is left out\. .*broken\.yaml:1 is not valid/,
      );
      write("broken", "a: [1]");
      assert.equal(names().length, 3);
    });
  } finally {
    console.error = error;
  }
});
