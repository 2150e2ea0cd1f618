/** What WebGPU promises of every adapter is enough: nothing more is asked for, no feature, no larger limit. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { Gpu } from "../../src/gpu/gpu.ts";
import { loadSftConfig, loadTangoConfig } from "../../src/run/config/load_config.ts";
import { fineTuneWithReport } from "../../src/run/session/sft_session.ts";
import { readJsonLines } from "../../src/run/store/json_lines_log.ts";
import { METRIC } from "../../src/run/store/metric_names.ts";
import type { MetricsLine } from "../../src/run/store/metrics_log.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";
import { testedEngines } from "../kernels/harness.ts";
import { smollm2File } from "../model/smollm2_file.ts";
import { loggedRun } from "./logged_run.ts";

/** The limits of the specification's table that a compute pass can come up against. */
const PROMISED = {
  maxStorageBuffersPerShaderStage: 8,
  maxComputeWorkgroupStorageSize: 16384,
  maxComputeInvocationsPerWorkgroup: 256,
  maxStorageBufferBindingSize: 2 ** 27,
  maxBufferSize: 2 ** 28,
  minStorageBufferOffsetAlignment: 256,
  minUniformBufferOffsetAlignment: 256,
} as const;

for (const engine of testedEngines) {
  Deno.test({
    name: `the default run on a device that has what WebGPU promises, and no more [${engine}]`,
    // A device keeps timers.
    sanitizeOps: false,
    sanitizeResources: false,
    fn: async () => {
      const folder = Deno.makeTempDirSync();
      const gpu = await Gpu.open(engine, { promisedOnly: true });
      try {
        const { limits, features } = gpu.device;
        const granted = Object.keys(PROMISED).map((name) => limits[name as keyof typeof PROMISED]);
        assert.deepEqual(granted, Object.values(PROMISED));
        const optional = [...features].map(String).filter((name) =>
          name !== "core-features-and-limits"
        );
        assert.deepEqual(optional, []);
        const config = loadTangoConfig("configs/chains.yaml", {
          set: [
            ...["schedule.verifier_warmup_steps=1", "schedule.generator_steps=1"],
            ...["schedule.measure_start=0", "evaluation.problems=8", "rollout.batch_size=8"],
          ],
          steps: 2,
        });
        const lines = await loggedRun(gpu, config, join(folder, "run"));
        const differences = lines.flatMap((line) => line["sampling/logp_difference/max"] ?? []);
        assert.deepEqual(differences, [0, 0]);
      } finally {
        gpu.close();
        Deno.removeSync(folder, { recursive: true });
      }
    },
  });
}

const model = await smollm2File();

/** Losses of an adapter on SmolLM2-135M over three updates. */
async function adapterLosses(promisedOnly: boolean): Promise<unknown[]> {
  const folder = Deno.makeTempDirSync();
  const gpu = await Gpu.open("native", { promisedOnly });
  try {
    const problems = "configs/problems/short-word-problems";
    const config = loadSftConfig("configs/word-problems-generator-sft.yaml", {
      set: [
        ...[`initial_model=${model}`, "output_directory=null", "batch_size=1"],
        `data={train: [{path: ${problems}/train.jsonl, format: gsm8k}], validation: null}`,
        ...["loss.micro_batch_tokens=256", "schedule.measure_start=0", "schedule.measure_end=0"],
        ...["evaluation.problems=1", "schedule.save_frequency=0"],
      ],
      steps: 3,
    });
    await fineTuneWithReport(gpu, config, join(folder, "run"), { resume: false });
    const { metrics } = RunFolder.open(join(folder, "run"));
    return readJsonLines<MetricsLine>(metrics).flatMap((line) => line[METRIC.supervisedLoss] ?? []);
  } finally {
    gpu.close();
    Deno.removeSync(folder, { recursive: true });
  }
}

Deno.test({
  name: "an adapter on SmolLM2-135M learns the same there",
  ignore: model === null,
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    const losses = await adapterLosses(true);
    assert.equal(losses.length, 3);
    assert.deepEqual(losses, await adapterLosses(false));
  },
});
