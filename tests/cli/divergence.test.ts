/** A learning rate that ruins the weights: every command skips what it cannot do, ends in good order and goes on. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { COMMANDS } from "../../src/cli/commands.ts";
import { exists } from "../../src/platform/files/atomic_file.ts";
import { latestCheckpoint, listCheckpoints } from "../../src/run/store/checkpoint.ts";
import { readJsonLines } from "../../src/run/store/json_lines_log.ts";
import type { MetricsLine } from "../../src/run/store/metrics_log.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";
import { gpuOf } from "../kernels/harness.ts";
import { type TinyProject, withTinyProject } from "../run/tiny_project.ts";
import { runCaptured } from "./run_captured.ts";

function testCommand(name: string, body: (project: TinyProject) => Promise<void>): void {
  Deno.test({
    name,
    // The GPU that makes the models outlives a test on purpose: it is opened once per process.
    sanitizeOps: false,
    sanitizeResources: false,
    fn: async () => await withTinyProject(await gpuOf("native"), body),
  });
}

const run = (...args: string[]) => runCaptured(COMMANDS, args);

/** Every number in the newest checkpoint's tensors. */
function storedNumbers({ checkpoints }: RunFolder): number[] {
  const newest = latestCheckpoint(checkpoints);
  assert.ok(newest);
  return [...Deno.readDirSync(newest.path)].filter(({ name }) => name.endsWith(".safetensors"))
    .flatMap(({ name }) => {
      const bytes = Deno.readFileSync(join(newest.path, name));
      const header = Number(new DataView(bytes.buffer).getBigUint64(0, true));
      return [...new Float32Array(bytes.slice(8 + header).buffer)];
    });
}

const linesOf = (folder: RunFolder) => readJsonLines<MetricsLine>(folder.metrics);
const trained = (folder: RunFolder) =>
  linesOf(folder).filter(({ phase }) => phase !== "evaluation");

testCommand(
  "train: a ruined generator ends the run, and --resume --set goes on",
  async (project) => {
    const folder = RunFolder.at(join(project.folder, "run"));
    const { code, errors } = await run(
      ...["train", "--config", project.config, "--run", folder.path, "--steps", "8"],
      ...["--set", "generator.optimizer.learning_rate=1e18", "--set", "schedule.save_frequency=1"],
    );
    assert.equal(code, 1, errors);
    // The first update ruins the weights: what follows is skipped, and nothing of it is saved.
    assert.match(
      errors,
      /step 1: not saved because the generator's weights or log-probs are not finite/,
    );
    assert.match(
      errors,
      /step 2: the verifier's update was skipped because the generator's log-probs/,
    );
    assert.match(
      errors,
      /step 3: the generator's update was skipped because the generator's log-probs/,
    );
    assert.match(
      errors,
      /\nStep 4 ends the run: its update was skipped because the generator's log-/,
    );
    assert.match(
      errors,
      /There is no checkpoint yet, so it will begin anew\. Continue with a lower/,
    );
    assert.doesNotMatch(errors, /\n +at /);
    assert.equal(listCheckpoints(folder.checkpoints).length, 0);
    assert.deepEqual(
      trained(folder).map((line) => line[`${line.phase}/skipped_updates`]),
      [0, 1, 1, 1],
    );
    const hint = /Continue with a lower learning rate: \.\/tango (.*)…/.exec(errors)?.[1] ?? "";
    const resumed = await run(...`${hint}1e-4`.split(" "));
    assert.equal(resumed.code, 0, resumed.errors);
    assert.match(resumed.errors, /From step 1 on generator\.optimizer\.learning_rate is 0\.0001/);
    const lines = trained(folder);
    assert.equal(lines.length, 8);
    assert.ok(lines.every((line) => line[`${line.phase}/skipped_updates`] === 0));
    assert.equal(lines[0]["set/generator.optimizer.learning_rate"], 1e-4);
    assert.ok(exists(join(folder.weights("generator"), "model.safetensors")));
  },
);

testCommand("train: a ruined verifier leaves the last good checkpoint", async (project) => {
  const folder = RunFolder.at(join(project.folder, "run"));
  const { code, errors } = await run(
    ...["train", "--config", project.config, "--run", folder.path, "--steps", "8"],
    ...["--set", "verifier.optimizer.learning_rate=1e18", "--set", "schedule.save_frequency=1"],
  );
  assert.equal(code, 1, errors);
  assert.match(
    errors,
    /step 3: the generator's update was skipped because the verifier's log-probs/,
  );
  assert.match(errors, /\nStep 5 ends the run: [^\n]*: lower verifier\.optimizer\.learning_rate\./);
  assert.deepEqual(listCheckpoints(folder.checkpoints).map(({ step }) => step), [1]);
  assert.ok(storedNumbers(folder).every((value) => Math.abs(value) < 100));
  const resume = ["train", "--run", folder.path, "--resume"];
  const again = await run(...resume);
  assert.equal(again.code, 1, "it dies in the same way as long as nothing changes");
  const resumed = await run(...resume, "--set", "verifier.optimizer.learning_rate=1e-4");
  assert.equal(resumed.code, 0, resumed.errors);
  assert.match(resumed.output, /from step 1\n/);
  assert.equal(trained(folder).length, 8);
});

testCommand("train: a run too short to be ended does not leave ruined weights", async (project) => {
  const folder = RunFolder.at(join(project.folder, "run"));
  const { code, errors } = await run(
    ...["train", "--config", project.config, "--run", folder.path, "--steps", "2"],
    ...["--set", "generator.optimizer.learning_rate=1e18"],
  );
  assert.equal(code, 1, errors);
  assert.match(errors, /\nStep 2 was the last, but the generator's weights or log-probs are not/);
  assert.ok(!exists(folder.weights("generator")) && !exists(folder.weights("verifier")));
  assert.equal(listCheckpoints(folder.checkpoints).length, 0);
});

testCommand("sft: ruined weights end it, and --resume --set goes on", async (project) => {
  const folder = RunFolder.at(join(project.folder, "run"));
  const { code, errors } = await run(
    ...["sft", "--config", project.sftConfig, "--run", folder.path, "--steps", "8"],
    ...["--set", "optimizer.learning_rate=1e18", "--set", "schedule.save_frequency=1"],
    ...["--set", "optimizer.warmup_steps=0", "--set", "optimizer.maximum_skipped_updates=2"],
  );
  assert.equal(code, 1, errors);
  assert.match(
    errors,
    /step 2: the generator's update was skipped because the generator's gradient/,
  );
  assert.match(
    errors,
    /\nStep 3 ends the run: its update was skipped because the generator's gradient/,
  );
  assert.match(errors, /step 1: left out of the log because it is not finite: eval\/loss/);
  assert.doesNotMatch(errors, /\n +at /);
  assert.deepEqual(trained(folder).map((line) => line["sft/skipped_updates"]), [0, 1, 1]);
  const resume = ["sft", "--run", folder.path, "--resume", "--set"];
  const resumed = await run(...resume, "optimizer.learning_rate=1e-3");
  assert.equal(resumed.code, 0, resumed.errors);
  assert.ok(trained(folder).every((line) => line["sft/skipped_updates"] === 0));
  assert.equal(trained(folder).length, 8);
});

testCommand("compare: each run that diverges is named, with advice of its own", async (project) => {
  const { code, errors } = await run(
    ...["compare", "--config", project.config, "--run", join(project.folder, "comparison")],
    ...["--seeds", "1", "--steps", "8", "--set", "generator.optimizer.learning_rate=1e18"],
  );
  assert.equal(code, 1, errors);
  for (const arm of ["tango", "alone", "frozen-verifier"]) {
    assert.match(errors, new RegExp(`^${arm}, seed 0: Step 4 `, "m"));
  }
  assert.match(
    errors,
    /begin another with a lower learning rate: \.\/tango compare --set generator\./,
  );
});

testCommand("train: what may not change is refused before anything is loaded", async (project) => {
  const folder = RunFolder.at(join(project.folder, "run"));
  const first = await run(
    "train",
    "--config",
    project.config,
    "--run",
    folder.path,
    "--steps",
    "1",
  );
  assert.equal(first.code, 0, first.errors);
  Deno.removeSync(folder.report);
  const resume = ["train", "--run", folder.path, "--resume", "--set"];
  for (
    const [set, message] of [
      [
        "rollout.batch_size=8",
        /rollout\.batch_size cannot change while a run goes on.*What can is/,
      ],
      ["rollout.temperature=0", /rollout\.temperature is 0; expected a number, greater than 0/],
      ["rollout.temperature=", /expected a number or a word/],
    ] as const
  ) {
    const { code, output, errors } = await run(...resume, set);
    assert.equal(code, 2, set);
    assert.match(errors, message);
    assert.equal(output, "");
  }
  assert.ok(!exists(folder.history));
});

testCommand("train: where no update takes effect it is not the learning rate", async (project) => {
  const { code, errors } = await run(
    ...["train", "--config", project.config, "--run", join(project.folder, "run"), "--steps", "9"],
    // Its inverse is no 32-bit number.
    ...["--set", "rollout.temperature=1e-39", "--set", "verifier=null"],
  );
  assert.equal(code, 1, errors);
  assert.match(errors, /\nStep 3 ends the run/);
  assert.match(errors, /No update took effect, so the generator is as it began/);
  assert.doesNotMatch(errors, /learning rate/);
});

testCommand("train: a checkpoint from which nothing is learned is named", async (project) => {
  const folder = RunFolder.at(join(project.folder, "run"));
  const first = await run(
    ...["train", "--config", project.config, "--run", folder.path, "--steps", "9"],
    // The KL term's gradient overflows once the policy has moved.
    ...["--set", "loss.kl_coefficient=3e38", "--set", "loss.kl_estimator=k2"],
    ...["--set", "schedule.save_frequency=1", "--set", "verifier=null"],
  );
  assert.equal(first.code, 1, first.errors);
  const [place] = listCheckpoints(folder.checkpoints);
  assert.match(
    first.errors,
    /the generator's gradient (norm is|has \d+ elements that are) not finite/,
  );
  assert.match(first.errors, new RegExp(`ends in the same way, remove ${place.path} to go on`));
});
