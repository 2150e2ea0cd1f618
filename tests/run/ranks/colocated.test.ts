/** Every rank holds both policies: a run leaves the same bytes on any number of them. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { readJsonLines } from "../../../src/run/store/json_lines_log.ts";
import type { MetricsLine } from "../../../src/run/store/metrics_log.ts";
import { RunFolder } from "../../../src/run/store/run_folder.ts";
import { assertSameFiles } from "../killable_runs.ts";
import { comparedFiles, RankRuns } from "./rank_runs.ts";

/** G (warm-up), V (warm-up), then G G V G G: seven steps in all. */
const long = {
  rollout: { batch_size: 6, group_size: 2, verifications_per_solution: 2 },
  loss: { kl_coefficient: 0.01, entropy_coefficient: 0.01, epochs: 2, mini_batches: 2 },
  schedule: {
    generator_warmup_steps: 1,
    verifier_warmup_steps: 1,
    generator_steps: 2,
    verifier_steps: 1,
    total_training_steps: 7,
    test_frequency: 4,
    save_frequency: 2,
  },
};

Deno.test({
  name: "ranks: a run leaves the same bytes on any number of them",
  // The GPU outlives its closing by a few timers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async (test) => {
    await using runs = new RankRuns();
    const generatorOnly = comparedFiles.filter((file) => !file.startsWith("verifier/"));
    const together = runs.config(long);
    const apart = runs.config({
      ...long,
      placement: { generator: "0-1", verifier: "2-3" },
    });

    await test.step("seven steps on 1 and 4", async () => {
      await runs.compare("whole", long, [4]);
      const lines = readJsonLines<MetricsLine>(RunFolder.open(runs.path("whole-1")).metrics);
      const steps = lines.filter(({ phase }) => phase !== "evaluation");
      assert.equal(steps.map(({ phase }) => phase[0]).join(""), "gvggvgg");
      for (const line of steps) {
        assert.ok(Number(line[`${line.phase}/grad_norm`]) > 0, `step ${line.step}`);
        assert.equal(line["sampling/logp_difference/max"], 0, `step ${line.step}`);
      }
    });

    await test.step("the generator on two of them, the verifier on two others", async () => {
      await runs.train("apart", 4, apart);
      assertSameFiles(runs.path("apart"), runs.path("whole-1"), comparedFiles);
    });

    await test.step("killed on 4, resumed on 2, killed and resumed on 1", async () => {
      await runs.trainUntil("killed", 4, together, 3);
      await runs.trainUntil("killed", 2, together, 5, true);
      await runs.train("killed", 1, together, { resume: true });
      assertSameFiles(runs.path("killed"), runs.path("whole-1"), comparedFiles);
    });

    await test.step("killed where each has ranks of its own, resumed on 2 that have both", async () => {
      await runs.trainUntil("killed-apart", 4, apart, 5);
      await runs.train("killed-apart", 2, together, { resume: true });
      assertSameFiles(runs.path("killed-apart"), runs.path("whole-1"), comparedFiles);
    });

    await test.step("further batches while groups teach nothing", async () => {
      const [told] = await runs.compare(
        "dynamic",
        { rollout: { maximum_generation_batches: 3 } },
        [3],
      );
      const batches = told.flatMap((event) =>
        event.type === "step" ? [event.metrics["generator/sampled_batches"]] : []
      );
      assert.ok(batches.some((count) => count > 1), `${batches}`);
    });

    await test.step("a custom reward that never says the same twice", async () => {
      const module = join(runs.root, "reward.ts");
      Deno.writeTextFileSync(module, "export default () => Math.random();\n");
      const config = runs.config({ rewards: { module } });
      const told = await runs.train("reward", 3, config);
      const rewards = told.map((events) =>
        events.flatMap((event) => event.type === "step" ? [event.metrics["generator/reward"]] : [])
      );
      assert.deepEqual(rewards[1], rewards[0]);
      assert.deepEqual(rewards[2], rewards[0]);
    });

    await test.step("the best weights", async () => {
      const best = ["best/generator/model.safetensors", "best/verifier/model.safetensors"];
      await runs.compare("best", { schedule: { keep_best: true } }, [2], [
        ...comparedFiles,
        ...best,
      ]);
    });

    await test.step("no verifier, and one that is frozen", async () => {
      await runs.compare("alone", { verifier: null }, [3], generatorOnly);
      await runs.compare("frozen", { verifier: { trained: false } }, [3], generatorOnly);
    });

    await test.step("a batch of fewer prompts than ranks", async () => {
      await runs.compare("small", { rollout: { batch_size: 2 }, evaluation: { problems: 1 } }, [4]);
    });

    await test.step("several samples of each problem in an evaluation", async () => {
      await runs.compare("samples", { evaluation: { samples: 3 } }, [2]);
    });

    await test.step("more than a batch has shards, or blind for the run's folder", async () => {
      const config = runs.config({ reduction: { shards: 2 } });
      await assert.rejects(runs.train("many", 3, config), {
        name: "UserError",
        message: /reduction\.shards: 3 ranks train the generator and a batch has 2 shards/,
      });
      await assert.rejects(runs.train("nowhere", 2, config, { resume: true }), {
        name: "UserError",
        message: /nowhere holds no run/,
      });
    });
  },
});
