/** A run whose weights are trained in 16 bits, with what they began as on the GPU and in host memory. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { UserError } from "../../../src/base/user_error.ts";
import { loadTangoConfig } from "../../../src/run/config/load_config.ts";
import { planTangoMemory } from "../../../src/run/memory/tango_memory_plan.ts";
import { tangoShrinks } from "../../../src/run/memory/tango_shrinks.ts";
import { trainWithReport } from "../../../src/run/session/training_session.ts";
import { readJsonLines } from "../../../src/run/store/json_lines_log.ts";
import type { MetricsLine } from "../../../src/run/store/metrics_log.ts";
import { RunFolder } from "../../../src/run/store/run_folder.ts";
import { StoredCheckpoint } from "../../../src/run/store/stored_checkpoint.ts";
import { loadPolicy } from "../../../src/run/tango/load_policy.ts";
import { openPolicies } from "../../../src/run/tango/policies.ts";
import { Gpu } from "../../../src/gpu/gpu.ts";
import { loadModel, loadModelFolder } from "../../../src/model/weights/model_folder.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { type TinyProject, withTinyProject } from "../tiny_project.ts";

const set = [
  "trained_dtype=bfloat16",
  "loss.kl_coefficient=0.05",
  "generator.optimizer.learning_rate=0.01",
  "verifier.optimizer.learning_rate=0.01",
  "schedule.total_training_steps=4",
  "schedule.save_frequency=2",
];

const runOf = ({ folder }: TinyProject, name: string) => RunFolder.at(join(folder, name));

onEveryGpu(
  "a run in bfloat16: its reference on either side, its checkpoint, its end",
  async (gpu) => {
    await withTinyProject(gpu, async (project) => {
      const bytes: Uint8Array[][] = [];
      for (const memory of ["gpu", "host"]) {
        const config = loadTangoConfig(project.config, {
          set: [...set, `reference_memory=${memory}`],
        });
        const { resident } = await planTangoMemory(gpu, config);
        const named = (what: string) => resident.filter((use) => use.what.includes(what)).length;
        assert.deepEqual([named("f32 masters"), named("reference")], [2, memory === "gpu" ? 2 : 0]);
        const run = runOf(project, memory);
        assert.equal(await trainWithReport(gpu, config, run.path, { resume: false }), true);
        const lines = readJsonLines<MetricsLine>(run.metrics);
        const of = (name: string) => lines.flatMap((line) => line[name] ?? []);
        // The weights began rounded, and so did what they are compared with.
        const divergences = of("generator/kl");
        assert.equal(divergences[0], 0);
        assert.ok(divergences.slice(1).every((divergence) => Number(divergence) > 0));
        assert.ok(of("sampling/logp_difference/max").every((difference) => difference === 0));
        const checkpoint = join(run.checkpoints, "step-000004");
        bytes.push(
          ["generator", "verifier"].map((name) =>
            Deno.readFileSync(join(checkpoint, `${name}.safetensors`))
          ),
        );
        // What a checkpoint gives to be asked is what the run left.
        const { model } = await loadPolicy(
          gpu,
          config,
          "generator",
          new StoredCheckpoint(checkpoint),
        );
        const left = await loadModel(gpu, run.weights("generator"), { trained: false });
        assert.deepEqual(await model.parameters.read(), await left.parameters.read());
        assert.ok(model.parameters.weights.some(({ dtype }) => dtype === "bf16"));
        model.release();
        left.release();
      }
      assert.deepEqual(bytes[1], bytes[0]);
    });
  },
);

onEveryGpu("a run in bfloat16 goes on from a checkpoint as if it had not ended", async (gpu) => {
  await withTinyProject(gpu, async (project) => {
    const config = loadTangoConfig(project.config, { set: [...set, "reference_memory=host"] });
    const end = (name: string) =>
      ["generator", "verifier"].map((policy) =>
        Deno.readFileSync(
          join(runOf(project, name).checkpoints, "step-000004", `${policy}.safetensors`),
        )
      );
    const train = (name: string, resume: boolean) =>
      trainWithReport(gpu, config, runOf(project, name).path, { resume });
    await train("whole", false);
    const whole = end("whole");
    const { checkpoints } = runOf(project, "whole");
    Deno.removeSync(join(checkpoints, "step-000004"), { recursive: true });
    assert.equal(await train("whole", true), true);
    assert.deepEqual(end("whole"), whole);
  });
});

onEveryGpu("a checkpoint is cut as its run was, however little is bound", async (gpu) => {
  await withTinyProject(gpu, async ({ generator }) => {
    const limits = { maxStorageBufferBindingSize: 8192 };
    const cutOf = async (gradients: boolean) => {
      const rehearsal = Gpu.rehearsalOf(gpu.info, limits);
      const { model: { parameters } } = await loadModelFolder(rehearsal, generator, {
        trained: true,
        gradients,
        trainedStorage: "bf16",
      });
      assert.equal(parameters.gradients !== null, gradients);
      return parameters.weights.map(({ size, dtype }) => [size, dtype]);
    };
    const trained = await cutOf(true);
    assert.ok(trained.filter(([, dtype]) => dtype === "bf16").length > 1);
    assert.deepEqual(await cutOf(false), trained);
  });
});

onEveryGpu("what is said of too little memory can be set", async (gpu) => {
  await withTinyProject(gpu, (project) => {
    for (
      const begun of [
        ["loss.kl_coefficient=0.05"],
        set,
        [...set, "reference_memory=host"],
        [...set, "verifier=null"],
      ]
    ) {
      let present = loadTangoConfig(project.config, { set: begun });
      const said = new Map<string, string>();
      for (const shrink of tangoShrinks) {
        for (let next = shrink(present); next !== null; next = shrink(present)) {
          for (const [key, value] of Object.entries(next.set)) said.set(key, value);
          present = loadTangoConfig(project.config, {
            set: [...begun, ...[...said].map(([key, value]) => `${key}=${value}`)],
          });
          assert.deepEqual(present, next.config);
        }
      }
      assert.ok(said.has("generator.lora") && said.get("trained_dtype") === "float32");
    }
    return Promise.resolve();
  });
});

onEveryGpu("an adapter's folder has no weights to train in 16 bits", async (gpu) => {
  await withTinyProject(gpu, async (project) => {
    const adapted = loadTangoConfig(project.config, {
      set: ["verifier=null", "generator.lora={rank: 4}", "schedule.total_training_steps=1"],
    });
    const { path } = runOf(project, "adapter");
    await trainWithReport(gpu, adapted, path, { resume: false });
    const model = JSON.stringify(RunFolder.at(path).weights("generator"));
    const open = (...more: string[]) =>
      openPolicies(
        gpu,
        loadTangoConfig(project.config, {
          set: ["verifier=null", `generator.model=${model}`, "loss.kl_coefficient=0.1", ...more],
        }),
      );
    await assert.rejects(
      open("trained_dtype=bfloat16"),
      (error) =>
        error instanceof UserError &&
        /trained_dtype is bfloat16; .* is an adapter/.test(error.message),
    );
    await assert.rejects(
      open("reference_memory=host"),
      /reference_memory is host; .* is an adapter/,
    );
  });
});
