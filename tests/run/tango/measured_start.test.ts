/** What is measured before training, in whole runs of tiny policies: it changes nothing else. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { sftConfigSchema } from "../../../src/run/config/sft_config_schema.ts";
import { fineTuneWithReport } from "../../../src/run/session/sft_session.ts";
import { readJsonLines } from "../../../src/run/store/json_lines_log.ts";
import type { Metrics, MetricsLine } from "../../../src/run/store/metrics_log.ts";
import { RunFolder } from "../../../src/run/store/run_folder.ts";
import { describeLearnabilityMetrics } from "../../../src/run/tango/learnability_metrics.ts";
import { gpuOf } from "../../kernels/harness.ts";
import { assertSameFiles } from "../killable_runs.ts";
import { comparedFiles, RankRuns } from "../ranks/rank_runs.ts";
import { tinyColumns, tinyData } from "../tiny_data.ts";
import { tinyPolicies, tinyTask } from "../tiny_policies.ts";

Deno.test({
  name: "measured start: the same on any ranks, and all else as without it",
  // The GPU outlives its closing by a few timers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    await using runs = new RankRuns();
    const schedule = { total_training_steps: 1, measure_start: 2 };
    const [told] = await runs.compare("measured", { schedule }, [2]);
    await runs.train("without", 1, runs.config({ schedule: { total_training_steps: 1 } }));
    const linesOf = (name: string) =>
      readJsonLines<MetricsLine>(RunFolder.open(runs.path(name)).metrics);
    const stripped = linesOf("measured-1").map((line) =>
      Object.fromEntries(Object.entries(line).filter(([key]) => !key.startsWith("eval/start/")))
    );
    assert.deepEqual(stripped, linesOf("without"));
    // The chain of records is of the configuration too, and of all that is measured.
    const others = ["metrics.jsonl", "audit.jsonl"];
    const rest = comparedFiles.filter((file) => !others.includes(file));
    assertSameFiles(runs.path("measured-1"), runs.path("without"), rest);
    const measured = linesOf("measured-1").filter((line) => "eval/start/problems" in line);
    assert.deepEqual(measured.map(({ step, phase }) => [step, phase]), [[0, "evaluation"]]);
    const [line] = measured;
    assert.equal(line["eval/start/problems"], 2);
    const [one, eight, mixed] = ["pass_at_1", "pass_at_8", "frac_mixed_groups"].map((name) =>
      Number(line[`eval/start/${name}`])
    );
    // Of two problems with 8 samples each.
    assert.ok(Number.isInteger(16 * one) && [0, 0.5, 1].includes(eight) && one <= eight);
    const isWarned = told.some((event) =>
      event.type === "warning" && event.message.startsWith("There is next to nothing to learn")
    );
    assert.equal(isWarned, eight - one < 0.05 || mixed < 0.1);
  },
});

Deno.test({
  name:
    "measured end: a generator's fine-tuning says what there is to learn, in its last evaluation",
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    const folder = Deno.makeTempDirSync();
    const gpu = await gpuOf("native");
    try {
      const entry = (name: string, rows: string) => {
        const path = join(folder, name);
        Deno.writeTextFileSync(path, rows);
        return [{ path, columns: { ...tinyColumns, solution: "solution" } }];
      };
      const onFiles = {
        train: entry("train.jsonl", tinyData(8)),
        held_out: entry("test.jsonl", tinyData(4, 8)),
        validation: null,
      };
      const config = (
        measure_end: number,
        problems: object,
        measure_temperature = 1,
        measure_start = 0,
      ) =>
        sftConfigSchema.parse({
          policy: "generator",
          ...problems,
          initial_model: tinyPolicies.generator,
          output_directory: null,
          batch_size: 2,
          max_response_length: 48,
          schedule: {
            total_training_steps: 2,
            test_frequency: 1,
            measure_start,
            measure_end,
            measure_temperature,
          },
          evaluation: { problems: 3 },
          tuning: "default",
        });
      const linesOf = async (
        name: string,
        measured: number,
        problems: object,
        temperature?: number,
        before?: number,
      ) => {
        const path = join(folder, name);
        const settings = config(measured, problems, temperature, before);
        await fineTuneWithReport(gpu, settings, path, { resume: false });
        return readJsonLines<MetricsLine>(RunFolder.open(path).metrics);
      };
      for (
        const [name, problems] of Object.entries({
          task: { task: tinyTask },
          files: { data: onFiles },
        })
      ) {
        const lines = await linesOf(`measured-${name}`, 2, problems);
        const found = lines.filter((line) => "eval/start/problems" in line);
        assert.deepEqual(found.map(({ step, phase }) => [step, phase]), [[2, "evaluation"]]);
        const said = describeLearnabilityMetrics(found[0] as unknown as Metrics);
        assert.match(said ?? "", /^2 problems × 8 samples: pass@1 \d/);
        const stripped = lines.map((line) =>
          Object.fromEntries(Object.entries(line).filter(([key]) => !key.startsWith("eval/start/")))
        );
        assert.deepEqual(stripped, await linesOf(`without-${name}`, 0, problems));
        const before = await linesOf(`before-${name}`, 0, problems, 1, 2);
        const first = before.filter((line) => "eval/start/problems" in line);
        assert.deepEqual(first.map(({ step, phase }) => [step, phase]), [[0, "evaluation"]]);
        // So cold that all samples are the likeliest.
        if (name === "task") assert.doesNotMatch(said ?? "", /wrong\) 0\.0 %$/);
        const cold = (await linesOf(`cold-${name}`, 2, problems, 1e-4)).map((line) =>
          describeLearnabilityMetrics(line as unknown as Metrics)
        );
        assert.match(cold.find((line) => line !== null) ?? "", /wrong\) 0\.0 %$/);
      }
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
    const refused = (settings: object) =>
      ["measure_start", "measure_end"].every((key) =>
        sftConfigSchema.safeParse({ schedule: { [key]: 1 }, ...settings }).success
      );
    assert.deepEqual([{ policy: "generator" }, { policy: "verifier" }].map(refused), [true, false]);
  },
});
