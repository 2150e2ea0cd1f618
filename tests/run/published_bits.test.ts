/** The published settings give the weights that they gave at commit bbebb16, to the bit. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { loadTangoConfig } from "../../src/run/config/load_config.ts";
import { gpuOf } from "../kernels/harness.ts";
import { loggedRun } from "./logged_run.ts";

/** Where the digests are from: other drivers round exp and log otherwise. */
const DEVICE = "llvmpipe (LLVM 19.1.7, 256 bits)";

/**
 * Of model.safetensors after seven steps, two that warm up the generator, two the verifier, and a round of two and one:
 * `./tango train --config configs/last-letter.yaml --steps 7` with the settings below, at bbebb16.
 */
const DIGESTS = {
  generator: "6124ab6a1c16a37e1fcd28f3b93f39f120ede54fe13b97899b03d87f329502b1",
  verifier: "471361822c981baeb271de6db846fec8a4b04e685528c949ae4fb2e7ada7b4a1",
} as const;

const gpu = await gpuOf("native");

Deno.test({
  name: "published bits: last-letter.yaml's first steps are those of bbebb16",
  ignore: gpu.info.name !== DEVICE,
  // A device keeps timers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    const folder = Deno.makeTempDirSync();
    try {
      const config = loadTangoConfig("configs/last-letter.yaml", {
        set: [
          "schedule.generator_warmup_steps=2",
          "schedule.verifier_warmup_steps=2",
          "schedule.measure_start=0",
          "evaluation.problems=8",
          "tuning=default",
        ],
        steps: 7,
      });
      const run = join(folder, "run");
      await loggedRun(gpu, config, run);
      for (const [policy, digest] of Object.entries(DIGESTS)) {
        const weights = Deno.readFileSync(join(run, policy, "model.safetensors"));
        assert.equal(createHash("sha256").update(weights).digest("hex"), digest, policy);
      }
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});
