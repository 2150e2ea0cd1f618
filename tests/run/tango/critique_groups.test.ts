/** A verifier step may compare another number of critiques than a generator step compares solutions. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { tangoConfigSchema } from "../../../src/run/config/config_schema.ts";
import { readJsonLines } from "../../../src/run/store/json_lines_log.ts";
import { RunFolder } from "../../../src/run/store/run_folder.ts";
import type { Sample } from "../../../src/run/store/samples_log.ts";
import { gpuOf } from "../../kernels/harness.ts";
import { loggedRun } from "../logged_run.ts";
import { tinyPolicies, tinyTask } from "../tiny_policies.ts";

Deno.test({
  name: "critiques: as many of each solution as are said, compared with each other",
  // A device keeps timers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    const folder = Deno.makeTempDirSync();
    const gpu = await gpuOf("native");
    const configuration = (critiques: number | null) => {
      const optimizer = { learning_rate: 0.003 };
      return tangoConfigSchema.parse({
        task: tinyTask,
        generator: { model: tinyPolicies.generator, max_response_length: 48, optimizer },
        verifier: { model: tinyPolicies.verifier, max_response_length: 64, optimizer },
        rollout: { batch_size: 6, group_size: 4, critiques },
        schedule: {
          ...{ verifier_warmup_steps: 1, generator_steps: 1, total_training_steps: 2 },
          ...{ test_frequency: 0, save_frequency: 0 },
        },
        tuning: "default",
        samples_per_step: 1000,
      });
    };
    const run = async (name: string, critiques: number | null) => {
      const lines = await loggedRun(gpu, configuration(critiques), join(folder, name));
      const { samples, report } = RunFolder.open(join(folder, name));
      return {
        lines,
        samples: readJsonLines<Sample>(samples),
        report: Deno.readTextFileSync(report),
      };
    };
    try {
      const same = await run("same", null);
      assert.deepEqual((await run("said", 4)).lines, same.lines);
      const { samples, report, lines } = await run("more", 7);
      const phaseOf = (name: string) => samples.filter(({ phase }) => phase === name);
      assert.equal(phaseOf("verifier").length, 6 * 7);
      assert.equal(phaseOf("generator").length, 6 * 4);
      assert.match(report, /critiques *\\| 7 of each solution/);
      // The advantages of a group of GRPO add up to nothing.
      const advantages = phaseOf("verifier").map(({ critiques: [one] }) => one.advantage ?? NaN);
      for (let first = 0; first < advantages.length; first += 7) {
        const sum = advantages.slice(first, first + 7).reduce((a, b) => a + b, 0);
        assert.ok(Math.abs(sum) < 1e-4, `${sum}`);
      }
      assert.ok(advantages.some((one) => Math.abs(one) > 0.1));
      const [verifier] = lines.filter(({ phase }) => phase === "verifier");
      assert.equal(verifier["sampling/logp_difference/max"], 0);
      assert.throws(() => configuration(1), /compares the critiques of a solution/);
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});
