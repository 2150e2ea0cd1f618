/** The settings that results were made with give the weights that they gave then, to the bit. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { loadTangoConfig } from "../../src/run/config/load_config.ts";
import { gpuOf } from "../kernels/harness.ts";
import { loggedRun } from "./logged_run.ts";

/** Where the digests are from: other drivers round exp and log otherwise. */
const DEVICE = "llvmpipe (LLVM 19.1.7, 256 bits)";

/** SHA-256 of each policy's model.safetensors after so many steps with the settings below. */
interface FirstSteps {
  readonly config: string;
  readonly steps: number;
  readonly set: readonly string[];
  readonly since: string;
  readonly digests: { readonly generator: string; readonly verifier: string };
}

const RUNS: readonly FirstSteps[] = [
  {
    // Two steps warm up the generator, two the verifier, then a round of two and one.
    config: "configs/last-letter.yaml",
    steps: 7,
    set: ["schedule.generator_warmup_steps=2", "schedule.verifier_warmup_steps=2"],
    since: "bbebb16",
    digests: {
      generator: "6124ab6a1c16a37e1fcd28f3b93f39f120ede54fe13b97899b03d87f329502b1",
      verifier: "471361822c981baeb271de6db846fec8a4b04e685528c949ae4fb2e7ada7b4a1",
    },
  },
  {
    // What docs/results.md tells: two steps of the verifier, then one of either.
    config: "configs/chains.yaml",
    steps: 4,
    set: ["schedule.verifier_warmup_steps=2", "schedule.generator_steps=1"],
    since: "428d96b",
    digests: {
      generator: "703ef37ab56619a60ef637181a0d5731e14135d08528e79fdb65c244be72869d",
      verifier: "c6fb52f4e037f9b4116dbe6411b368ba37d4bcd822d175555e2d4e0857345987",
    },
  },
];

const gpu = await gpuOf("native");

for (const { config: path, steps, set, since, digests } of RUNS) {
  Deno.test({
    name: `published bits: the first steps of ${path} are those of ${since}`,
    ignore: gpu.info.name !== DEVICE,
    // A device keeps timers.
    sanitizeOps: false,
    sanitizeResources: false,
    fn: async () => {
      const folder = Deno.makeTempDirSync();
      try {
        const config = loadTangoConfig(path, {
          set: [...set, "schedule.measure_start=0", "evaluation.problems=8", "tuning=default"],
          steps,
        });
        const run = join(folder, "run");
        await loggedRun(gpu, config, run);
        for (const [policy, digest] of Object.entries(digests)) {
          const weights = Deno.readFileSync(join(run, policy, "model.safetensors"));
          assert.equal(createHash("sha256").update(weights).digest("hex"), digest, policy);
        }
      } finally {
        Deno.removeSync(folder, { recursive: true });
      }
    },
  });
}
