/** Killed runs on files: the place in them and the best evaluation are part of what is resumed. */

import assert from "node:assert/strict";
import { readJsonLines } from "../../src/run/store/json_lines_log.ts";
import type { MetricsLine } from "../../src/run/store/metrics_log.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";
import { assertSameFiles, KillableRuns } from "./killable_runs.ts";
import { tinyColumns, tinyData } from "./tiny_data.ts";
import { tinyPolicies } from "./tiny_policies.ts";

const compared = [
  "metrics.jsonl",
  "samples.jsonl",
  ...["generator", "verifier", "best/generator", "best/verifier"].map((folder) =>
    `${folder}/model.safetensors`
  ),
];

/** Six times G V on 16 problems; up to 3 batches of 4 in a generator step. */
function prepare(runs: KillableRuns): void {
  const { generator, verifier } = tinyPolicies;
  const entry = (name: string, rows: string) => {
    Deno.writeTextFileSync(runs.path(name), rows);
    return [{ path: runs.path(name), columns: tinyColumns }];
  };
  // The tiny policies solve most problems; of this reward many groups get unequal amounts.
  Deno.writeTextFileSync(
    runs.path("reward.ts"),
    "export default ({ response }: { response: string }) =>\n" +
      "  new TextEncoder().encode(response).reduce((sum, byte) => sum + byte, 0) % 3 ? 1 : 0;",
  );
  const optimizer = { learning_rate: 0.003 };
  runs.configure({
    data: {
      train: entry("problems.jsonl", tinyData(16)),
      validation: entry("validation.jsonl", tinyData(4, 16)),
      held_out: entry("test.jsonl", tinyData(4, 20)),
    },
    generator: { model: generator, max_response_length: 48, optimizer },
    verifier: { model: verifier, max_response_length: 64, optimizer },
    rollout: { batch_size: 4, group_size: 4, maximum_generation_batches: 3 },
    rewards: { module: runs.path("reward.ts"), minimum_steps: 1 },
    schedule: {
      generator_steps: 1,
      verifier_steps: 1,
      total_training_steps: 12,
      test_frequency: 1,
      save_frequency: 1,
      keep_best: true,
    },
    evaluation: { problems: 4 },
  });
}

Deno.test({
  name: "resume: runs on files that were killed end as one that was not",
  // The GPU outlives its closing by a few timers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async (test) => {
    using runs = new KillableRuns("train");
    prepare(runs);
    await test.step("an uninterrupted run goes through the file and keeps its best", async () => {
      await runs.train("whole");
      const lines = readJsonLines<MetricsLine>(RunFolder.open(runs.path("whole")).metrics);
      const steps = lines.filter(({ phase }) => phase !== "evaluation");
      // Dynamic sampling took more than one batch and less than all, or its place would not be tested.
      const batches = steps.filter(({ phase }) => phase === "generator")
        .map((line) => Number(line["generator/sampled_batches"]));
      assert.ok(
        batches.some((count) => count > 1) && batches.some((count) => count < 3),
        `${batches}`,
      );
      const drawn = steps.map((line) => 4 * Number(line["generator/sampled_batches"] ?? 1));
      const sums = drawn.map((_, i) => drawn.slice(0, i + 1).reduce((a, b) => a + b));
      assert.ok(
        lines.every((line) => !("data/answer_timeouts" in line)),
        "it depends on the clock",
      );
      // 16 problems in an epoch.
      assert.deepEqual(steps.map((line) => line["data/epochs"]), sums.map((sum) => sum / 16));
    });

    await test.step("killed twice", async () => {
      await runs.trainUntilKilled("killed", 4);
      await runs.trainUntilKilled("killed", 8, { resume: true });
      const { code, output } = await runs.resume("killed");
      assert.equal(code, 0, output);
      assertSameFiles(runs.path("killed"), runs.path("whole"), compared);
    });
  },
});
