/**
 * A run is the same run however often it is cut off: real processes are killed with SIGKILL at different
 * places and resumed, and must leave the bytes of a run that was left alone.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { listCheckpoints } from "../../src/run/store/checkpoint.ts";
import { readJsonLines } from "../../src/run/store/json_lines_log.ts";
import type { MetricsLine } from "../../src/run/store/metrics_log.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";
import { assertSameFiles, KillableRuns, readOf } from "./killable_runs.ts";
import { tinyPolicies, tinyTask } from "./tiny_policies.ts";

/** What must be the same to the last byte. */
const compared = [
  "metrics.jsonl",
  "samples.jsonl",
  "audit.jsonl",
  "generator/model.safetensors",
  "verifier/model.safetensors",
];

/** The same of a run that trains adapters. */
const comparedAdapters = compared.map((file) => file.replace("/model.", "/adapter_model."));

/** Adapters of both policies, a loss that leaves responses out, and an α that goes by moving averages. */
const adapters = [
  ...[
    "--set",
    "generator.lora={rank: 4}",
    "--set",
    "verifier.lora={rank: 8, targets: [v_proj, down_proj]}",
  ],
  ...["--set", "loss.objective=gspo", "--set", "loss.mask_truncated=true"],
  ...["--set", "advantage.process=own-step", "--set", "advantage.alpha.schedule=earned"],
];

/** Steps: G (warm-up), V (warm-up), then G G V twice. */
const totalSteps = 8;

/** Makes the policies' weights and the configuration of all runs. */
function prepare(runs: KillableRuns): void {
  const { generator, verifier } = tinyPolicies;
  const optimizer = { learning_rate: 0.003, warmup_steps: 2, schedule: "cosine" };
  runs.configure({
    task: tinyTask,
    generator: { model: generator, max_response_length: 48, optimizer },
    verifier: { model: verifier, max_response_length: 64, optimizer },
    rollout: {
      batch_size: 6,
      group_size: 2,
      verifications_per_solution: 2,
      decode_slots: 9,
    },
    loss: { kl_coefficient: 0.01, entropy_coefficient: 0.01, epochs: 2, mini_batches: 2 },
    advantage: { alpha: { initial: 0.5 } },
    rewards: { generator_format_weight: 0.5, minimum_steps: 1 },
    schedule: {
      generator_warmup_steps: 1,
      verifier_warmup_steps: 1,
      generator_steps: 2,
      verifier_steps: 1,
      total_training_steps: totalSteps,
      test_frequency: 2,
      save_frequency: 2,
    },
    evaluation: { problems: 3 },
    samples_per_step: 2,
  });
}

Deno.test({
  name: "resume: runs that were killed end as one that was not",
  // The GPU outlives its closing by a few timers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async (test) => {
    using runs = new KillableRuns("train");
    prepare(runs);
    await test.step("an uninterrupted run trains both policies", async () => {
      await runs.train("whole");
      const lines = readJsonLines<MetricsLine>(RunFolder.open(runs.path("whole")).metrics);
      const steps = lines.filter(({ phase }) => phase !== "evaluation");
      assert.equal(steps.map(({ phase }) => phase[0]).join(""), "gvggvggv");
      const evaluated = lines.filter(({ phase }) => phase === "evaluation").map(({ step }) => step);
      assert.deepEqual(evaluated, [0, 2, 3, 6, 8]);
      for (const line of steps) {
        assert.equal(line["sampling/logp_difference/max"], 0, `step ${line.step}`);
        assert.ok(Number(line[`${line.phase}/grad_norm`]) > 0, `step ${line.step}`);
      }
      // Rewards of different sizes, or resuming would be tested on updates without advantages.
      assert.ok(steps.some((line) => Number(line[`${line.phase}/reward_std`]) > 0));
      const saved = listCheckpoints(RunFolder.at(runs.path("whole")).checkpoints);
      assert.deepEqual(saved.map(({ step }) => step), [6, 8]);
    });

    await test.step("the same seed gives the same bytes, another seed others", async () => {
      await runs.train("again");
      assertSameFiles(runs.path("again"), runs.path("whole"), compared);
      await runs.train("other", 2);
      for (const file of compared) {
        const other = readOf(runs.path("other"), file);
        assert.notDeepEqual(other, readOf(runs.path("whole"), file), file);
      }
    });

    await test.step("killed three times, at first before there was a checkpoint", async () => {
      await runs.trainUntilKilled("thrice", 1);
      await runs.trainUntilKilled("thrice", 6, { resume: true });
      await runs.trainUntilKilled("thrice", 9, { resume: true });
      const { code, output } = await runs.resume("thrice");
      assert.equal(code, 0, output);
      assertSameFiles(runs.path("thrice"), runs.path("whole"), compared);
    });

    await test.step("killed while training adapters, writing a line and a checkpoint", async () => {
      await runs.train("adapters", 1, adapters);
      const { metrics } = RunFolder.open(runs.path("adapters"));
      const steps = readJsonLines<MetricsLine>(metrics).filter(({ phase }) =>
        phase !== "evaluation"
      );
      for (const line of steps) {
        assert.equal(line["sampling/logp_difference/max"], 0, `step ${line.step}`);
      }
      assert.ok(steps.some((line) => Number(line[`${line.phase}/grad_norm`]) > 0));
      await runs.trainUntilKilled("torn", 5, { options: adapters });
      const folder = RunFolder.open(runs.path("torn"));
      for (const log of [folder.metrics, folder.samples, folder.timings]) {
        Deno.writeTextFileSync(log, '{"step": 7, "pha', { append: true });
      }
      const half = join(folder.checkpoints, "step-000004.tmp");
      Deno.mkdirSync(half, { recursive: true });
      Deno.writeTextFileSync(join(half, "generator.safetensors"), "half of it");
      const { code, output } = await runs.resume("torn");
      assert.equal(code, 0, output);
      assertSameFiles(runs.path("torn"), runs.path("adapters"), comparedAdapters);
      assert.ok(
        [...Deno.readDirSync(folder.checkpoints)].every(({ name }) => !name.endsWith(".tmp")),
      );
    });

    await test.step("a checkpoint cut short is passed over", async () => {
      const folder = RunFolder.open(runs.path("again"));
      const [, last] = listCheckpoints(folder.checkpoints);
      Deno.truncateSync(join(last.path, "verifier.safetensors"), 1000);
      Deno.removeSync(folder.weights("verifier"), { recursive: true });
      const { code, output } = await runs.resume("again");
      assert.equal(code, 0, output);
      assert.match(output, /is not whole and is passed over/);
      assert.match(output, /from step 6/);
      assertSameFiles(runs.path("again"), runs.path("whole"), compared);
    });

    await test.step("a checkpoint whose content changed is refused by name", async () => {
      const folder = RunFolder.open(runs.path("other"));
      const [, last] = listCheckpoints(folder.checkpoints);
      const file = join(last.path, "generator.safetensors");
      const bytes = Deno.readFileSync(file);
      bytes[bytes.length - 5] ^= 4;
      Deno.writeFileSync(file, bytes);
      Deno.removeSync(folder.weights("verifier"), { recursive: true });
      const { code, output } = await runs.resume("other");
      assert.equal(code, 2, output);
      assert.match(output, /step-000008 cannot be used: the content of generator\.safetensors/);
      assert.match(output, /Remove that folder to resume from the one before/);
      assert.doesNotMatch(output, /\n\s+at /, "a user's error needs no stack trace");
    });
  },
});
