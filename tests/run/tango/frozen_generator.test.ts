/** A verifier trained on the solutions of a generator that stays as it is. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { exists } from "../../../src/platform/files/atomic_file.ts";
import { changeTangoConfig } from "../../../src/run/config/changeable.ts";
import { loadTangoConfig } from "../../../src/run/config/load_config.ts";
import { planTangoMemory } from "../../../src/run/memory/tango_memory_plan.ts";
import { trainWithReport } from "../../../src/run/session/training_session.ts";
import { readJsonLines } from "../../../src/run/store/json_lines_log.ts";
import type { MetricsLine } from "../../../src/run/store/metrics_log.ts";
import { RunFolder } from "../../../src/run/store/run_folder.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { withTinyProject } from "../tiny_project.ts";

onEveryGpu("a frozen generator: verifier steps alone, with a curve", async (gpu) => {
  await withTinyProject(gpu, async ({ config, folder }) => {
    const load = (...set: string[]) => loadTangoConfig(config, { set });
    const frozen = load("generator.trained=false", "schedule.generator_warmup_steps=3");
    assert.deepEqual(
      [frozen.schedule.generator_warmup_steps, frozen.schedule.generator_steps],
      [0, 0],
    );
    const run = RunFolder.at(join(folder, "run"));
    assert.equal(await trainWithReport(gpu, frozen, run.path, { resume: false }), true);
    const lines = readJsonLines<MetricsLine>(run.metrics);
    const stepsOf = (phase: string) =>
      lines.filter((line) => line.phase === phase).map(({ step }) => step);
    assert.deepEqual(stepsOf("generator"), []);
    assert.deepEqual(stepsOf("verifier"), [1, 2, 3, 4, 5]);
    assert.deepEqual(stepsOf("evaluation"), [0, 2, 4, 5]);
    // The generator answers alike from beginning to end; the verifier's weights have moved.
    const accuracies = lines.filter(({ phase }) => phase === "evaluation")
      .map((line) => line["eval/generator/accuracy"]);
    assert.equal(new Set(accuracies).size, 1);
    assert.ok(!exists(run.weights("generator")) && exists(run.weights("verifier")));
    assert.match(Deno.readTextFileSync(run.report), /with a frozen generator/);
    const { resident } = await planTangoMemory(gpu, frozen);
    const held = resident.map(({ what }) => what);
    assert.ok(!held.some((what) => /(gradients|moments).* generator|generator: grad/.test(what)));
    assert.ok(held.includes("optimizer moments of the verifier"), held.join());
    assert.throws(
      () => changeTangoConfig(frozen, { "generator.optimizer.learning_rate": 1 }),
      /generator\.trained is false/,
    );
    // A run whose generator could be trained and is not, in the end: the same curve.
    const none = load("schedule.generator_steps=0");
    assert.equal(await trainWithReport(gpu, none, join(folder, "none"), { resume: false }), true);
    const other = readJsonLines<MetricsLine>(RunFolder.at(join(folder, "none")).metrics);
    const learned = (all: readonly MetricsLine[]) =>
      all.filter(({ phase }) => phase === "verifier").map((line) => line["verifier/grad_norm"]);
    assert.deepEqual(learned(other), learned(lines));
  });
});

onEveryGpu("a frozen generator: what cannot be together", async (gpu) => {
  await withTinyProject(gpu, ({ config }) => {
    const refused = (set: string[], message: RegExp) =>
      assert.throws(() => loadTangoConfig(config, { set: ["generator.trained=false", ...set] }), {
        message,
      });
    refused(["verifier=null"], /generator\.trained.*true, because without a verifier to train/s);
    refused(["verifier.trained=false"], /generator\.trained.*true/s);
    refused(["schedule.verifier_steps=0"], /schedule\.verifier_steps.*at least 1/s);
    refused(["generator.lora={rank: 4}"], /generator\.lora.*null, because generator\.trained/s);
    refused(["schedule.keep_best=true"], /schedule\.keep_best.*goes by the generator/s);
    return Promise.resolve();
  });
});

onEveryGpu("no reference is held where no KL term weighs it", async (gpu) => {
  await withTinyProject(gpu, async ({ config }) => {
    const referencesOf = async (...set: string[]) => {
      const { resident } = await planTangoMemory(gpu, loadTangoConfig(config, { set }));
      return resident.map(({ what }) => what).filter((what) => what.startsWith("reference"));
    };
    assert.deepEqual(await referencesOf(), [
      "reference of the generator",
      "reference of the verifier",
    ]);
    assert.deepEqual(await referencesOf("loss.kl_coefficient=0"), []);
    assert.deepEqual(await referencesOf("verifier.trained=false"), ["reference of the generator"]);
    assert.deepEqual(await referencesOf("generator.trained=false"), ["reference of the verifier"]);
  });
});
