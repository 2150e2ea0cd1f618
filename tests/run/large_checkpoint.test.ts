/** A run whose weights are longer than what passes between the GPU and the host at once. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { stagingBytes } from "../../src/gpu/readback.ts";
import { latestCheckpoint } from "../../src/run/store/checkpoint.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";
import { assertSameFiles, KillableRuns } from "./killable_runs.ts";

Deno.test("large checkpoint: a run of all weights that was killed and resumed ends as one that was not", async () => {
  using runs = new KillableRuns("sft");
  runs.configure({
    policy: "generator",
    architecture: { hidden_size: 256, layers: 1, intermediate_size: 1536, attention_heads: 4 },
    batch_size: 1,
    schedule: { total_training_steps: 3, test_frequency: 100, save_frequency: 1 },
    max_response_length: 4,
    evaluation: { problems: 1 },
  });
  await runs.train("whole");
  // The evaluation before the first update, and two updates: the first one's checkpoint is there.
  await runs.trainUntilKilled("cut", 3);
  const saved = latestCheckpoint(RunFolder.open(runs.path("cut")).checkpoints);
  assert.ok(saved);
  // Weights and two moments, one segment each.
  assert.ok(Deno.statSync(join(saved.path, "generator.safetensors")).size > 3 * stagingBytes);
  const { code, output } = await runs.resume("cut");
  assert.equal(code, 0, output);
  assert.match(output, new RegExp(`from update ${saved.step}`));
  assertSameFiles(runs.path("cut"), runs.path("whole"), [
    "metrics.jsonl",
    "generator/model.safetensors",
  ]);
});
