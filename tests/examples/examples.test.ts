/** The examples, as a user runs them. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { PROJECT_FOLDER } from "../../src/cli/dev/project.ts";
import { liveProcess } from "../../src/run/control/endpoint/control_file.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";
import { withModels } from "../server/openai/with_models.ts";

async function run(example: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", join(PROJECT_FOLDER, "examples", example), ...args],
    cwd: PROJECT_FOLDER,
  }).output();
  const decoder = new TextDecoder();
  assert.equal(code, 0, decoder.decode(stderr));
  return decoder.decode(stdout);
}

Deno.test("examples: two policies take turns on one page", async () => {
  const printed = await run("tango_in_one_page.ts", "3", "2", "2");
  assert.match(
    printed,
    /^step 1: generator reward [01]\.\d+.*\nstep 2: generator .*\nstep 3: verifier reward [01]\.\d+.*\n$/,
  );
});

Deno.test("examples: an adapter learns a sentence and says it", async () => {
  await withModels(async ({ url }) => {
    assert.match(await run("teach_adapter.ts", url), /^a small model$/m);
  });
});

Deno.test({
  name: "examples: a run is started and followed to its end",
  // The run is a process of its own.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: () =>
    withModels(async ({ url, root }) => {
      const printed = await run("watch_run.ts", url);
      assert.match(printed, /^step 1: reward 0\.\d+$/m);
      assert.match(printed, /^last-letter-001 is finished$/m);
      // It says that it has finished, and then has its files to put away.
      const folder = RunFolder.at(join(root, "last-letter-001"));
      while (liveProcess(folder)) await new Promise((resolve) => setTimeout(resolve, 20));
    }, {}),
});
