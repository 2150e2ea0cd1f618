/**
 * Runs on a disk that is full: real processes whose writes the system refuses end with one message, leave
 * what was there before, and go on to the same bytes once there is room.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { Gpu } from "../../src/gpu/gpu.ts";
import { listCheckpoints } from "../../src/run/store/checkpoint.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";
import { assertSameFiles, KillableRuns, type Outcome } from "./killable_runs.ts";
import { withTinyProject } from "./tiny_project.ts";

/** The command failed by the user's mistake, with one message and no stack trace. */
function assertUserError({ code, output }: Outcome, message: RegExp): void {
  assert.equal(code, 2, output);
  assert.match(output, message);
  assert.doesNotMatch(output, /\n\s+at /, "a user's error needs no stack trace");
}

const filesIn = (folder: string) => [...Deno.readDirSync(folder)].map(({ name }) => name).sort();

Deno.test("full disk: a checkpoint that does not fit leaves the one before, and the run goes on from it", async () => {
  using runs = new KillableRuns("sft");
  const architecture = { hidden_size: 32, layers: 2, attention_heads: 4, key_value_heads: 2 };
  runs.configure({
    policy: "generator",
    architecture,
    batch_size: 2,
    schedule: {
      total_training_steps: 25,
      test_frequency: 100,
      save_frequency: 1,
      keep_checkpoints: 1,
    },
    max_response_length: 10,
    evaluation: { problems: 2 },
  });
  await runs.train("whole");
  await runs.trainUntilStopped("full", 3, []);
  const { checkpoints, path } = RunFolder.open(runs.path("full"));
  const [before] = listCheckpoints(checkpoints);
  const weights = join(before.path, "generator.safetensors");
  const content = Deno.readFileSync(weights);
  // The report says how a run ended: while it goes on there is none.
  const files = filesIn(path).filter((name) => name !== "report.md");

  const refused = await runs.resume("full", "tests/run/small_disk.ts");
  assertUserError(
    refused,
    /step-0000\d\d: the disk is full\. Make room and continue the run with --resume\./,
  );
  assert.deepEqual(filesIn(checkpoints), [before.path.split("/").at(-1)], refused.output);
  assert.deepEqual(filesIn(path), files, refused.output);
  assert.deepEqual(Deno.readFileSync(weights), content);

  const { code, output } = await runs.resume("full");
  assert.equal(code, 0, output);
  assertSameFiles(runs.path("full"), runs.path("whole"), [
    "metrics.jsonl",
    "generator/model.safetensors",
  ]);
});

Deno.test({
  name: "full disk: a line that does not fit ends the run with one message",
  // The GPU outlives its closing by a few timers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    const gpu = await Gpu.open("auto");
    await withTinyProject(gpu, async ({ config }) => {
      gpu.close();
      using runs = new KillableRuns("train");
      Deno.copyFileSync(config, runs.path("config.yaml"));
      for (const log of ["metrics.jsonl", "samples.jsonl"]) {
        const run = runs.path(log.split(".")[0]);
        Deno.mkdirSync(run);
        Deno.symlinkSync("/dev/full", join(run, log));
        assertUserError(
          await runs.begin(log.split(".")[0]),
          new RegExp(`${log}: the disk is full\\. Make room and continue the run with --resume\\.`),
        );
        Deno.removeSync(join(run, log));
        const { code, output } = await runs.resume(log.split(".")[0]);
        assert.equal(code, 0, output);
      }
      assertSameFiles(runs.path("metrics"), runs.path("samples"), [
        "metrics.jsonl",
        "samples.jsonl",
        "generator/model.safetensors",
      ]);
    });
  },
});
