/** A GPU that goes away in the middle of a command leaves one message, which says how to go on. */

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { exists } from "../../src/platform/files/atomic_file.ts";
import { COMMANDS } from "../../src/cli/commands.ts";
import type { EngineName } from "../../src/gpu/adapter.ts";
import type { Gpu } from "../../src/gpu/gpu.ts";
import { latestCheckpoint } from "../../src/run/store/checkpoint.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";
import { gpuOf, testedEngines } from "../kernels/harness.ts";
import { type TinyProject, withTinyProject } from "../run/tiny_project.ts";
import { watchingGpus } from "./opened_gpu.ts";
import { runCaptured } from "./run_captured.ts";

/** Runs a command whose GPU is destroyed as soon as `isTime`. */
async function runOnLostGpu(args: readonly string[], isTime: () => boolean) {
  let watch: ReturnType<typeof setInterval> | undefined;
  const lose = (gpu: Gpu) => {
    const look = () => {
      if (!isTime()) return;
      clearInterval(watch);
      gpu.device.destroy();
    };
    watch = setInterval(look, 1);
    look();
  };
  try {
    return await watchingGpus(lose, () => runCaptured(COMMANDS, args));
  } finally {
    clearInterval(watch);
  }
}

function testOnProject(
  name: string,
  body: (project: TinyProject, engine: EngineName) => Promise<void>,
) {
  for (const engine of testedEngines) {
    Deno.test({
      name: `${name} [${engine}]`,
      sanitizeOps: false,
      sanitizeResources: false,
      fn: async () =>
        await withTinyProject(await gpuOf("native"), (project) => body(project, engine)),
    });
  }
}

testOnProject(
  "train: a lost GPU names kernels, checkpoint and how to go on",
  async (project, gpu) => {
    const folder = RunFolder.at(join(project.folder, "run"));
    const saving = ["--set", "schedule.save_frequency=1", "--gpu", gpu];
    const { code, printed } = await runOnLostGpu(
      ["train", "--config", project.config, "--run", folder.path, ...saving],
      () => latestCheckpoint(folder.checkpoints) !== null,
    );
    assert.equal(code, 1, printed);
    const kept = latestCheckpoint(folder.checkpoints);
    assert.ok(kept);
    assert.match(printed, /The GPU was lost \(.*launched since the last read: .*rmsnorm/);
    assert.ok(
      printed.includes(`The last checkpoint is ${kept.path} (step ${kept.step}).`),
      printed,
    );
    assert.ok(printed.includes(`./tango train --run ${folder.path} --resume`));
    assert.doesNotMatch(printed, /\n\s+at /, "no stack trace");
    const again = await runCaptured(COMMANDS, ["train", "--run", folder.path, "--resume"]);
    assert.equal(again.code, 0, again.printed);
  },
);

testOnProject("sft: a GPU that is lost before the first checkpoint", async (project, gpu) => {
  const path = join(project.folder, "sft");
  const config = join(project.folder, "long.yaml");
  const schedule = { total_training_steps: 400, save_frequency: 400 };
  const slow = { batch_size: 32, schedule, evaluation: { problems: 2 } };
  Deno.writeTextFileSync(config, stringify({ policy: "generator", ...slow }));
  const folder = RunFolder.at(path);
  const { code, printed } = await runOnLostGpu(
    ["sft", "--config", config, "--run", path, "--gpu", gpu],
    () => exists(folder.metrics) && Deno.statSync(folder.metrics).size > 0,
  );
  assert.equal(code, 1, printed);
  assert.match(printed, /There is no checkpoint yet.*\.\/tango sft --run .*sft --resume/);
  assert.doesNotMatch(printed, /\n\s+at /, "no stack trace");
});

testOnProject("compare: a lost GPU leaves what was done", async (project, gpu) => {
  const path = join(project.folder, "comparison");
  const { code, printed } = await runOnLostGpu(
    ["compare", "--config", project.config, "--run", path, "--seeds", "1", "--gpu", gpu],
    () =>
      exists(path) &&
      readdirSync(path, { recursive: true }).some((file) => `${file}`.endsWith("metrics.jsonl")),
  );
  assert.equal(code, 1, printed);
  assert.match(
    printed,
    /The GPU was lost[^]*Each of its runs has its checkpoints. Continue with: .*compare --run/,
  );
  assert.doesNotMatch(printed, /\n\s+at /, "no stack trace");
});

testOnProject("generate: a lost GPU is one message", async (project, gpu) => {
  const { code, printed } = await runOnLostGpu(
    ["generate", "cat dog", "--model", project.generator, "--max-length", "200", "--gpu", gpu],
    () => true,
  );
  assert.equal(code, 1, printed);
  assert.match(printed, /The GPU was lost[^\n]*$/);
  assert.doesNotMatch(printed, /\n\s+at /, "no stack trace");
});
