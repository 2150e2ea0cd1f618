/** What several ranks cannot do is said once, before anything else is. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { COMMANDS } from "../../../src/cli/commands.ts";
import { PROJECT_FOLDER } from "../../../src/cli/dev/project.ts";
import { tangoOnRanks, testEachLibrary } from "../../distributed/mpi/installations.ts";
import { runCaptured } from "../run_captured.ts";

Deno.test("commands: only these may be started as several ranks", () => {
  const names = Object.keys(COMMANDS).filter((name) => COMMANDS[name].isForRanks);
  assert.deepEqual(names, ["train", "sft", "audit", "doctor"]);
});

testEachLibrary("a command for one process is refused once", async (mpiexec) => {
  const { code, printed } = await tangoOnRanks(mpiexec, 2, ["eval", "--model", "nowhere"]);
  const said = printed.match(/^eval is for a single process, and .* started 2: .*$/gm);
  assert.equal(said?.length, 1, printed);
  assert.doesNotMatch(printed, /nowhere/);
  assert.equal(code, 2);
});

/** Calls `body` with a folder that holds a run which did not come far, of a configuration of this project. */
async function withBegunRun(
  configuration: string,
  changes: object,
  body: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = Deno.makeTempDirSync();
  const written: object = parse(Deno.readTextFileSync(join(PROJECT_FOLDER, configuration)));
  Deno.writeTextFileSync(join(folder, "config.yaml"), stringify({ ...written, ...changes }));
  await body(folder);
  Deno.removeSync(folder, { recursive: true });
}

const configurations = {
  train: "configs/last-letter.yaml",
  sft: "configs/last-letter-generator-sft.yaml",
};

for (const [command, configuration] of Object.entries(configurations)) {
  Deno.test(`${command}: a folder that holds a run is refused before ranks are started, exit 2`, async () => {
    await withBegunRun(configuration, { reduction: { shards: 2 } }, async (folder) => {
      const set = ["--set", "reduction.shards=2"];
      for (const ranks of [[], ["--ranks", "2"]]) {
        const found = await runCaptured(COMMANDS, [command, "--run", folder, ...set, ...ranks]);
        assert.equal(found.code, 2);
        assert.match(found.printed, /^\S* already holds a run\. .*--run\.$/);
      }
    });
  });

  Deno.test(`${command}: --resume on more ranks than a batch has shards says how many there may be`, async () => {
    await withBegunRun(configuration, { reduction: { shards: 2 } }, async (folder) => {
      const resume = [command, "--run", folder, "--resume", "--ranks", "3"];
      const { code, printed } = await runCaptured(COMMANDS, resume);
      assert.equal(code, 2);
      assert.match(printed, /^reduction\.shards: 3 ranks train .* Start at most 2 ranks for it/);
      // What it advises is allowed.
      const many = await runCaptured(COMMANDS, [...resume.slice(0, -1), "9999"]);
      assert.equal(many.code, 2);
      assert.match(
        many.printed,
        /Start at most 2 ranks for it; no run has more than 1024 shards\.$/,
      );
    });
  });
}
