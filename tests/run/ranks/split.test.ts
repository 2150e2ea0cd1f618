/** Some ranks hold the generator, others the verifier: a run leaves the bytes that it leaves on one rank. */

import assert from "node:assert/strict";
import { Sampler } from "../../../src/engine/sampling/sampler.ts";
import { readJsonLines } from "../../../src/run/store/json_lines_log.ts";
import { RunFolder } from "../../../src/run/store/run_folder.ts";
import type { Sample } from "../../../src/run/store/samples_log.ts";
import { assertSameFiles } from "../killable_runs.ts";
import { comparedFiles, RankRuns } from "./rank_runs.ts";
import { tinyTask } from "../tiny_policies.ts";

/** V (warm-up), then G G V: seven steps, with an evaluation after each second generator step. */
const course = {
  rollout: { batch_size: 5, group_size: 2, verifications_per_solution: 2 },
  loss: { kl_coefficient: 0.01 },
  schedule: {
    verifier_warmup_steps: 1,
    generator_steps: 2,
    verifier_steps: 1,
    total_training_steps: 7,
    test_frequency: 2,
    save_frequency: 2,
    keep_best: true,
  },
};

/** Also what only one rank held, which the first one has written. */
const files = [
  ...comparedFiles,
  "best/generator/model.safetensors",
  "best/verifier/model.safetensors",
];

const placed = (generator: string, verifier: string) => ({
  ...course,
  placement: { generator, verifier },
});

/** What is asked of all samplers while `body` runs: how often, and whether while another GPU's was busy. */
async function watchSamplers(
  body: () => Promise<unknown>,
): Promise<{ readonly count: number; readonly overlaps: boolean }> {
  const { add } = Sampler.prototype;
  const samplers = new Set<Sampler>();
  let count = 0;
  let overlaps = false;
  Sampler.prototype.add = function (request) {
    samplers.add(this);
    const isApart = (other: Sampler) => other.model.gpu !== this.model.gpu;
    if ([...samplers].some((other) => isApart(other) && other.busy)) overlaps = true;
    if (!this.model.gpu.isRehearsal) count++;
    return add.call(this, request);
  };
  try {
    await body();
  } finally {
    Sampler.prototype.add = add;
  }
  return { count, overlaps };
}

Deno.test({
  name: "split ranks: the bytes of one rank, whoever holds what",
  // The GPU outlives its closing by a few timers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async (test) => {
    await using runs = new RankRuns();
    const together = runs.config(course);

    await test.step("solutions are judged as they come, and sampled once", async () => {
      const whole = await watchSamplers(() => runs.train("whole", 1, together));
      const config = runs.config(placed("1", "0"));
      const apart = await watchSamplers(() => runs.train("apart", 2, config));
      assertSameFiles(runs.path("apart"), runs.path("whole"), files);
      assert.deepEqual(apart, { count: whole.count, overlaps: true });
    });

    await test.step("each sample says which version of which policy wrote it", () => {
      const samples = readJsonLines<Sample>(RunFolder.open(runs.path("apart")).samples);
      const versions = new Map(
        samples.filter(({ phase }) => phase !== "evaluation")
          .map(({ step, version, critiques: [{ version: judge }] }) => [step, [version, judge]]),
      );
      // V, then G G V G G V: each was sampled by what the steps before it had made.
      assert.deepEqual([...versions], [
        [1, [0, 0]],
        [2, [0, 1]],
        [3, [1, 1]],
        [4, [2, 1]],
        [5, [2, 2]],
        [6, [3, 2]],
        [7, [4, 2]],
      ]);
    });

    await test.step("further batches: judged once it is known which groups are left", async () => {
      const changes = { rollout: { maximum_generation_batches: 3 } };
      await runs.train("batches", 1, runs.config(changes));
      const placement = { generator: "0", verifier: "1-2" };
      await runs.train("batches-apart", 3, runs.config({ ...changes, placement }));
      assertSameFiles(runs.path("batches-apart"), runs.path("batches"), comparedFiles);
    });

    await test.step("wrong solutions alone are judged as they come, too", async () => {
      const changes = {
        ...course,
        task: { ...tinyTask, maximum_steps: 1 },
        advantage: { judged: "wrong" },
        schedule: { total_training_steps: 3, test_frequency: 0, save_frequency: 0 },
        samples_per_step: 10,
      };
      await runs.train("wrong", 1, runs.config(changes));
      const placement = { generator: "0", verifier: "1" };
      await runs.train("wrong-apart", 2, runs.config({ ...changes, placement }));
      assertSameFiles(runs.path("wrong-apart"), runs.path("wrong"), comparedFiles);
      const samples = readJsonLines<Sample>(RunFolder.open(runs.path("wrong")).samples)
        .filter(({ phase }) => phase === "generator");
      assert.deepEqual(
        new Set(samples.map(({ correct, critiques }) => `${correct} ${critiques.length}`)),
        new Set(["true 0", "false 2"]),
      );
    });

    await test.step("a verifier that is frozen, and fewer solutions than ranks to judge", async () => {
      const changes = { verifier: { trained: false }, rollout: { batch_size: 1 } };
      const generatorOnly = comparedFiles.filter((file) => !file.startsWith("verifier/"));
      await runs.train("frozen", 1, runs.config(changes));
      const placement = { generator: "3", verifier: "0-2" };
      await runs.train("frozen-apart", 4, runs.config({ ...changes, placement }));
      assertSameFiles(runs.path("frozen-apart"), runs.path("frozen"), generatorOnly);
    });

    await test.step("a placement that names ranks that are not there is refused", async () => {
      await assert.rejects(runs.train("refused", 3, runs.config(placed("0-1", "2-3"))), {
        name: "UserError",
        message: /placement\.verifier: there is no rank 3; there are 3/,
      });
    });
  },
});
