/** Fine-tuning on files: it learns, keeps its best, and a killed run ends as one that was not. */

import assert from "node:assert/strict";
import { join } from "node:path";
import type { Gpu } from "../../src/gpu/gpu.ts";
import { exists } from "../../src/platform/files/atomic_file.ts";
import { listCheckpoints } from "../../src/run/store/checkpoint.ts";
import { readJsonLines } from "../../src/run/store/json_lines_log.ts";
import { METRIC } from "../../src/run/store/metric_names.ts";
import type { MetricsLine } from "../../src/run/store/metrics_log.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";
import { type SftConfig, sftConfigSchema } from "../../src/run/config/sft_config_schema.ts";
import { SftRun } from "../../src/run/sft/sft_run.ts";
import { fineTuneWithReport } from "../../src/run/session/sft_session.ts";
import { gpuOf, onEveryGpu } from "../kernels/harness.ts";
import { assertSameFiles, KillableRuns } from "./killable_runs.ts";
import { tinyData } from "./tiny_data.ts";
import { withTinyProject } from "./tiny_project.ts";

const columns = { question: "question", answer: "answer", solution: "solution" };

/** Files of 16 solutions to imitate, 8 to choose weights by and 8 to measure. */
function writeData(path: (name: string) => string) {
  const entry = (name: string, rows: string) => {
    Deno.writeTextFileSync(path(name), rows);
    return [{ path: path(name), columns }];
  };
  return {
    train: entry("examples.jsonl", tinyData(16)),
    validation: entry("validation.jsonl", tinyData(8, 16)),
    held_out: entry("test.jsonl", tinyData(8, 24)),
  };
}

/** A configuration that fine-tunes a model on such files. */
const configuration = (model: string, data: ReturnType<typeof writeData>) => ({
  policy: "generator",
  initial_model: model,
  data,
  batch_size: 6,
  schedule: { total_training_steps: 12, test_frequency: 3, save_frequency: 4, keep_best: true },
  optimizer: { learning_rate: 0.01 },
  evaluation: { problems: 8 },
});

const evaluationsOf = (folder: RunFolder) =>
  readJsonLines<MetricsLine>(folder.metrics).filter(({ phase }) => phase === "evaluation");

/** Loss of a model on what the configuration holds out. */
async function heldOutLoss(gpu: Gpu, config: SftConfig, model: string): Promise<number> {
  const run = await SftRun.open(gpu, { ...config, initial_model: model });
  const { loss } = await run.measurement.measure(0);
  run.close();
  return loss;
}

onEveryGpu(
  "fine-tuning on files: the held-out loss falls, and the best weights are kept",
  async (gpu) => {
    await withTinyProject(gpu, async ({ generator, folder }) => {
      const data = writeData((name) => join(folder, name));
      // So many updates of so few examples that they are learned by heart in the end.
      const config = sftConfigSchema.parse({
        ...configuration(generator, data),
        schedule: { total_training_steps: 60, test_frequency: 10, keep_best: true },
        optimizer: { learning_rate: 0.05 },
      });
      const run = RunFolder.at(join(folder, "run"));
      const options = { resume: false };
      assert.equal(await fineTuneWithReport(gpu, config, run.path, options), true);
      const of = (metric: string) => evaluationsOf(run).map((line) => Number(line[metric]));
      const losses = of(METRIC.validationLoss), reported = of(METRIC.heldOutLoss);
      assert.equal(losses.length, 7, "once before the first update");
      const best = Math.min(...losses);
      const last = losses[6];
      // From being undecided between 64 tokens, 4.2 nats, to knowing the format at least.
      assert.ok(best < 0.6 * losses[0], `${losses}`);
      assert.ok(best < last, `the last evaluation is the best, which tests nothing: ${losses}`);
      // The same weights and examples give the same bits.
      assert.equal(await heldOutLoss(gpu, config, generator), reported[0]);
      // Chosen by the one part, reported on the other.
      const chosen = reported[losses.indexOf(best)];
      assert.equal(await heldOutLoss(gpu, config, run.best("generator")), chosen);
      assert.equal(await heldOutLoss(gpu, config, run.weights("generator")), reported[6]);
      const steps = readJsonLines<MetricsLine>(run.metrics).filter(({ phase }) =>
        phase === "generator"
      );
      // 16 examples in an epoch.
      assert.equal(steps[59]["data/epochs"], 60 * 6 / 16);
    });
  },
);

onEveryGpu(
  "fine-tuning on files: so many passes, with a warm-up of a share of them",
  async (gpu) => {
    await withTinyProject(gpu, async ({ generator, folder }) => {
      const config = sftConfigSchema.parse({
        ...configuration(generator, writeData((name) => join(folder, name))),
        schedule: { total_training_steps: 100, epochs: 2 },
        optimizer: { learning_rate: 1, warmup_share: 0.5 },
      });
      const run = RunFolder.at(join(folder, "run"));
      const options = { resume: false };
      assert.equal(await fineTuneWithReport(gpu, config, run.path, options), true);
      const steps = readJsonLines<MetricsLine>(run.metrics).filter(({ phase }) =>
        phase === "generator"
      );
      // 2 × 16 examples in batches of 6 are 5 whole ones; half of them, 2, are the warm-up.
      assert.deepEqual(steps.map((line) => line["sft/learning_rate"]), [0.5, 1, 1, 1, 1]);
      assert.match(Deno.readTextFileSync(run.report), /^5 updates of 6 examples/m);
    });
  },
);

Deno.test({
  name: "fine-tuning on files: a run that was cut off ends as one that was not",
  // The GPU outlives its closing by a few timers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async (test) => {
    using runs = new KillableRuns("sft");
    const files = [
      "metrics.jsonl",
      "generator/model.safetensors",
      "best/generator/model.safetensors",
    ];
    await withTinyProject(await gpuOf("native"), async ({ generator }) => {
      runs.configure(configuration(generator, writeData((name) => runs.path(name))));

      // Too long to end before it is cut off; then made shorter, so that the rest is quick.
      const long = ["--steps", "9000"];
      /** Resumes a run for three more updates than were saved; compares it with one in one go. */
      const finish = async (name: string, options: readonly string[]) => {
        const folder = RunFolder.open(runs.path(name));
        assert.ok(!exists(folder.weights("generator")));
        const saved = listCheckpoints(folder.checkpoints).at(-1)?.step ?? NaN;
        const steps = String(saved + 3);
        const config = Deno.readTextFileSync(folder.configuration);
        Deno.writeTextFileSync(folder.configuration, config.replace("9000", steps));
        const { code, output } = await runs.resume(name);
        assert.equal(code, 0, output);
        assert.match(output, new RegExp(`from update ${saved}\n`));
        await runs.train(`${name}-whole`, 1, [...options, "--steps", steps]);
        assertSameFiles(runs.path(name), runs.path(`${name}-whole`), files);
      };

      await test.step("killed before and after a checkpoint", async () => {
        await runs.trainUntilKilled("killed", 2, { options: long });
        await runs.trainUntilKilled("killed", 10, { resume: true });
        await finish("killed", []);
      });

      await test.step("stopped with Ctrl-C, between checkpoints and evaluations", async () => {
        const seldom = ["save_frequency=0", "test_frequency=1000"]
          .flatMap((setting) => ["--set", `schedule.${setting}`]);
        await runs.trainUntilStopped("stopped", 5, [...seldom, ...long]);
        const { report } = RunFolder.at(runs.path("stopped"));
        assert.match(Deno.readTextFileSync(report), /It was stopped before its end/);
        await finish("stopped", seldom);
      });
    });
  },
});
