/** What WebGPU promises of every adapter is enough: nothing more is asked for, no feature, no larger limit. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { Gpu } from "../../src/gpu/gpu.ts";
import { loadTangoConfig } from "../../src/run/config/load_config.ts";
import { testedEngines } from "../kernels/harness.ts";
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
