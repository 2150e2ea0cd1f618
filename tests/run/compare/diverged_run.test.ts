/** A comparison with a run that runs away. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { stringify } from "yaml";
import { UserError } from "../../../src/base/user_error.ts";
import { loadArms } from "../../../src/run/compare/arms.ts";
import { createComparison } from "../../../src/run/compare/comparison_folder.ts";
import { divergedSentence } from "../../../src/run/compare/comparison_report.ts";
import { type DoRun, runComparison } from "../../../src/run/compare/comparison_session.ts";
import { loadBaseConfig } from "../../../src/run/config/load_config.ts";
import { Divergence } from "../../../src/run/health/divergence.ts";
import { tinyPolicies, tinyTask } from "../tiny_policies.ts";

const divergence = () =>
  new Divergence("Step 3 ends the run", "generator", "generator.optimizer", 2);

/** Compares two arms over two seeds, without training anything. */
async function compare(doRun: DoRun, jobs = 1) {
  const folder = Deno.makeTempDirSync();
  try {
    const written = (name: string, value: unknown) => {
      const path = join(folder, name);
      Deno.writeTextFileSync(path, stringify(value));
      return path;
    };
    const base = loadBaseConfig(
      written("tango.yaml", {
        task: tinyTask,
        generator: { model: tinyPolicies.generator },
        verifier: { model: tinyPolicies.verifier },
        schedule: { total_training_steps: 4 },
      }),
      {},
    );
    const arms = loadArms(
      written("arms.yaml", { arms: { tango: {}, alone: { verifier: null } } }),
      base,
    );
    const comparison = { base, arms, seeds: [0, 1] };
    const path = join(folder, "compared");
    createComparison(path, comparison);
    const report = { baseline: "alone", target: null, jobs };
    return await runComparison(comparison, path, { ...report, doRun });
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

const nameOf = ({ arm, seed }: Pick<Parameters<DoRun>[0], "arm" | "seed">) => `${arm.name} ${seed}`;

for (const jobs of [1, 2]) {
  Deno.test(`compare: a run that diverges ends by itself, ${jobs} at once`, async () => {
    const begun: string[] = [];
    const end = await compare((run) => {
      begun.push(nameOf(run));
      return nameOf(run) === "tango 0" ? Promise.reject(divergence()) : Promise.resolve(false);
    }, jobs);
    assert.deepEqual(begun, ["tango 0", "alone 0", "tango 1", "alone 1"]);
    const [{ arm, seed, message, learningRate }, ...others] = end.diverged;
    assert.deepEqual([arm.name, seed, others.length], ["tango", 0, 0]);
    assert.equal(message, "Step 3 ends the run");
    assert.equal(learningRate, "generator.optimizer.learning_rate");
    assert.deepEqual([end.isDone, end.table], [false, null]);
    assert.match(divergedSentence(end.diverged), /in no table: tango, seed 0\./);
  });
}

Deno.test("compare: any other failure ends it", async () => {
  const begun: string[] = [];
  const failing = compare((run) => {
    begun.push(nameOf(run));
    return Promise.reject(new UserError("the disk is full"));
  });
  await assert.rejects(failing, /the disk is full/);
  assert.deepEqual(begun, ["tango 0"]);
});
