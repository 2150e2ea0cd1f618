/** Step judgments that are paid, and verifier batches from a pool: whole runs of tiny policies. */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { readJsonLines } from "../../../src/run/store/json_lines_log.ts";
import type { MetricsLine } from "../../../src/run/store/metrics_log.ts";
import { RunFolder } from "../../../src/run/store/run_folder.ts";
import type { Sample } from "../../../src/run/store/samples_log.ts";
import { assertSameFiles } from "../killable_runs.ts";
import { comparedFiles, RankRuns } from "../ranks/rank_runs.ts";
import { tinyPolicies, tinyTask } from "../tiny_policies.ts";

/** V (warm-up), then G G V twice: the first verifier step has no pool to draw from. */
const course = {
  rewards: {
    verifier_judgment: "both",
    verifier_steps: "prefix",
    prefix_continuations: 2,
    verifier_step_weight: 0.5,
  },
  class_reweighting: { method: "inverse", scale: "average", pool: 12 },
  schedule: {
    verifier_warmup_steps: 1,
    generator_steps: 2,
    verifier_steps: 1,
    total_training_steps: 7,
    test_frequency: 0,
    save_frequency: 1,
  },
};

function chains(policy: "generator" | "verifier"): string {
  return fileURLToPath(new URL(`../../../weights/chains/${policy}`, import.meta.url));
}

/** The tiny generator never writes a second step. */
const writesSteps = fileURLToPath(
  new URL("../../../weights/last-letter/generator", import.meta.url),
);

Deno.test({
  name: "paid judgments: the same bytes on any ranks and after a kill",
  // The GPU outlives its closing by a few timers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async (test) => {
    await using runs = new RankRuns();
    const config = runs.config(course);

    await test.step("verifier steps judge what generator steps made", async () => {
      await runs.train("whole", 1, config);
      const lines = readJsonLines<MetricsLine>(RunFolder.open(runs.path("whole")).metrics);
      const steps = lines.filter(({ phase }) => phase === "verifier");
      assert.deepEqual(steps.map((line) => line["verifier/frac_from_pool"]), [0, 1, 1]);
      for (const line of steps) {
        assert.equal(line["sampling/logp_difference/max"], 0, `step ${line.step}`);
        assert.ok(Number(line["verifier/grad_norm"]) > 0, `step ${line.step}`);
        const reward = Number(line["verifier/step_reward"]);
        assert.ok(reward >= 0 && reward <= 1, `step ${line.step}`);
        assert.ok(Number(line["verifier/prefix_worth"]) >= Number(line["verifier/prefix_value"]));
      }
    });

    await test.step("killed before a verifier step, resumed on two ranks", async () => {
      await runs.trainUntil("killed", 1, config, 4);
      await runs.train("killed", 2, config, { resume: true });
      assertSameFiles(runs.path("killed"), runs.path("whole"), comparedFiles);
    });

    await test.step("the verifier on a rank of its own", async () => {
      const placement = { generator: "1", verifier: "0" };
      await runs.train("apart", 2, runs.config({ ...course, placement }));
      assertSameFiles(runs.path("apart"), runs.path("whole"), comparedFiles);
    });

    await test.step("paid by the answer, of pairs: any ranks, with the verifier on its own too", async () => {
      const paired = {
        task: { ...tinyTask, minimum_steps: 2, maximum_steps: 2 },
        generator: { model: writesSteps, max_response_length: 64 },
        verifier: { model: tinyPolicies.verifier, max_response_length: 64 },
        rollout: { batch_size: 6, group_size: 2, candidates: 4 },
        rewards: { verifier_steps: "outcome", verifier_step_weight: 0.5 },
        class_reweighting: { method: "inverse", scale: "average" },
        schedule: { verifier_warmup_steps: 2, total_training_steps: 3, test_frequency: 0 },
        samples_per_step: 12,
      };
      await runs.compare("paired", paired, [2]);
      const placement = { generator: "0", verifier: "1" };
      await runs.train("paired-apart", 2, runs.config({ ...paired, placement }));
      assertSameFiles(runs.path("paired-apart"), runs.path("paired-1"), comparedFiles);
      const lines = readJsonLines<MetricsLine>(RunFolder.open(runs.path("paired-1")).metrics);
      const steps = lines.filter(({ phase }) => phase === "verifier");
      assert.equal(steps.length, 2);
      for (const line of steps) {
        // Each judgment is paid for the answer: nothing was sampled to know more.
        assert.equal(line["verifier/prefix_value"], undefined);
        assert.ok(Number(line["verifier/step_count_negative"]) > 0, `step ${line.step}`);
        assert.ok(Number(line["verifier/grad_norm"]) > 0, `step ${line.step}`);
      }
      const samples = readJsonLines<Sample>(RunFolder.open(runs.path("paired-1")).samples)
        .filter(({ phase }) => phase === "verifier");
      const pairs = Map.groupBy(samples, ({ step, problem }) => `${step} ${problem}`);
      assert.ok(
        [...pairs.values()].some((own) => own.some((one) => one.correct !== own[0].correct)),
      );
    });

    await test.step("α goes by critiques as generator steps have them", async () => {
      const measured = (judging_temperature: number | null) => ({
        task: { name: "chains", minimum_steps: 2, maximum_steps: 3 },
        generator: { model: chains("generator"), max_response_length: 64 },
        verifier: { model: chains("verifier"), max_response_length: 80 },
        rollout: { batch_size: 16, group_size: 2, judging_temperature },
        advantage: { process: "until-error", judged: "wrong", alpha: { schedule: "earned" } },
        schedule: { verifier_warmup_steps: 1, total_training_steps: 2, test_frequency: 0 },
      });
      const step = async (name: string, temperature: number | null, ranks = 1) => {
        await runs.train(name, ranks, runs.config(measured(temperature)));
        const [line] = readJsonLines<MetricsLine>(RunFolder.open(runs.path(name)).metrics);
        return line;
      };
      const sampled = await step("as-sampled", null);
      const likeliest = await step("likeliest", 0);
      const quality = "advantage/judgment_quality";
      assert.notEqual(likeliest[quality], sampled[quality]);
      // What the verifier learns from is the same.
      assert.deepEqual({ ...likeliest, [quality]: 0 }, { ...sampled, [quality]: 0 });
      await step("likeliest-ranks", 0, 2);
      assertSameFiles(runs.path("likeliest-ranks"), runs.path("likeliest"), comparedFiles);
    });

    await test.step("values of steps: any ranks, with the verifier on its own too", async () => {
      const valued = {
        task: { ...tinyTask, minimum_steps: 2, maximum_steps: 2 },
        generator: { model: writesSteps, max_response_length: 64 },
        verifier: { model: tinyPolicies.verifier, max_response_length: 64 },
        rewards: { prefix_continuations: 2 },
        advantage: { process: "own-step", judgments: "prefix", alpha: { initial: 0.5 } },
        schedule: { total_training_steps: 2, test_frequency: 0 },
      };
      await runs.compare("valued", valued, [2]);
      const placement = { generator: "0", verifier: "1" };
      await runs.train("valued-apart", 2, runs.config({ ...valued, placement }));
      assertSameFiles(runs.path("valued-apart"), runs.path("valued-1"), comparedFiles);
      const [line] = readJsonLines<MetricsLine>(RunFolder.open(runs.path("valued-1")).metrics);
      assert.ok(Number(line["generator/continuation_tokens"]) > 0);
    });
  },
});
