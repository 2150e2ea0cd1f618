import assert from "node:assert/strict";
import { join } from "node:path";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import { exists } from "../../../src/platform/files/atomic_file.ts";
import { readJsonLines } from "../../../src/run/store/json_lines_log.ts";
import { loadTangoConfig } from "../../../src/run/config/load_config.ts";
import type { MetricsLine } from "../../../src/run/store/metrics_log.ts";
import { RunFolder } from "../../../src/run/store/run_folder.ts";
import { trainWithReport } from "../../../src/run/session/training_session.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { withTinyProject } from "../tiny_project.ts";

/** Trains on problems without answers, as a module rewards them; `body` sees the folder and the outcome. */
async function withRun(
  gpu: Gpu,
  { reward, set = [] }: { readonly reward: string | null; readonly set?: readonly string[] },
  body: (folder: RunFolder, run: Promise<boolean>, module: string) => Promise<void>,
): Promise<void> {
  await withTinyProject(gpu, async ({ folder, config: file }) => {
    const problems = join(folder, "problems.jsonl"), module = join(folder, "reward.ts");
    const heldOut = join(folder, "test.jsonl");
    const lines = (questions: readonly string[]) =>
      questions.map((question) => JSON.stringify({ question })).join("\n");
    Deno.writeTextFileSync(problems, lines(["once", "more", "what", "that"]));
    Deno.writeTextFileSync(heldOut, lines(["will", "then"]));
    if (reward !== null) Deno.writeTextFileSync(module, reward);
    const config = loadTangoConfig(file, {
      set: [
        `data={train: [{path: ${problems}}], held_out: [{path: ${heldOut}}]}`,
        "schedule.total_training_steps=3",
        "schedule.test_frequency=0",
        // A verifier in training would need answers.
        "verifier.trained=false",
        ...(reward === null ? [] : [`rewards.module=${module}`]),
        ...set,
      ],
    });
    const run = RunFolder.at(join(folder, "run"));
    await body(run, trainWithReport(gpu, config, run.path, { resume: false }), module);
  });
}

onEveryGpu(
  "custom reward: it takes the place of correctness, its numbers are logged",
  async (gpu) => {
    const reward =
      `export default ({ question, referenceAnswer, source, response, correct, finished }) => ({
    reward: question.length + (correct ? 100 : 0),
    metrics: {
      length: response.length,
      known: referenceAnswer === "" && source === "problems" ? 1 : 0,
      cut: finished ? 0 : 1,
    },
  });`;
    await withRun(gpu, { reward }, async (folder, run) => {
      assert.equal(await run, true);
      const steps = readJsonLines<MetricsLine>(folder.metrics)
        .filter(({ phase }) => phase === "generator");
      assert.deepEqual(steps.map(({ step }) => step), [1, 2, 3]);
      for (const line of steps) {
        assert.equal(line["generator/reward"], 4);
        assert.equal(line["generator/reward/known"], 1);
        assert.equal(line["generator/reward/cut"], line["generator/completions/clipped_ratio"]);
        assert.ok(Number(line["generator/reward/length"]) > 0);
        assert.equal(line["generator/accuracy"], 0, "without answers nothing is correct");
      }
    });
  },
);

onEveryGpu("custom reward: unequal ones are learned from", async (gpu) => {
  const reward = "let calls = 0; export default () => calls++;";
  await withRun(gpu, { reward, set: ["verifier=null"] }, async (folder, run) => {
    await run;
    for (const line of readJsonLines<MetricsLine>(folder.metrics)) {
      assert.equal(line["generator/frac_reward_zero_std"], 0);
      assert.equal(line["generator/frac_unequal_rewards"], 1);
      assert.ok(Number(line["generator/grad_norm"]) > 0);
    }
  });
});

onEveryGpu(
  "custom reward: a reward that is no number ends the run with its module's name",
  async (gpu) => {
    await withRun(gpu, { reward: "export default () => NaN;" }, async (folder, run, module) => {
      await assert.rejects(run, (error: Error) => {
        assert.equal(error.name, "UserError");
        assert.ok(error.message.startsWith(`${module}: for the question "`), error.message);
        assert.match(error.message, /the reward function returned NaN/);
        return true;
      });
      assert.equal(Deno.readTextFileSync(folder.metrics), "", "the step is not logged");
    });
  },
);

onEveryGpu("custom reward: without one, answers are needed, and no folder is left", async (gpu) => {
  await withRun(gpu, { reward: null }, async (folder, run) => {
    await assert.rejects(run, /no record is left to use[^]*2 dropped: no reference answer/);
    assert.ok(!exists(folder.path));
  });
});

onEveryGpu("custom reward: a verifier in training needs answers all the same", async (gpu) => {
  const options = { reward: "export default () => 1;", set: ["verifier.trained=true"] };
  await withRun(gpu, options, async (_folder, run) => {
    await assert.rejects(run, /no record is left to use[^]*2 dropped: no reference answer/);
  });
});

onEveryGpu("custom reward: a module that is missing is said before training", async (gpu) => {
  await withRun(gpu, { reward: null, set: ["rewards.module=no/such.ts"] }, async (folder, run) => {
    await assert.rejects(run, /no\/such\.ts: there is no such reward module/);
    assert.ok(!exists(folder.path));
  });
});
