/** Solutions and critiques are sampled, and learned from, at temperatures of their own. */

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
  name: "temperatures: critiques have their own, in verifier and generator steps",
  // A device keeps timers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    const folder = Deno.makeTempDirSync();
    const gpu = await gpuOf("native");
    const run = async (name: string, temperature: number, critique_temperature: number | null) => {
      const optimizer = { learning_rate: 0.003 };
      const config = tangoConfigSchema.parse({
        task: tinyTask,
        generator: { model: tinyPolicies.generator, max_response_length: 48, optimizer },
        verifier: { model: tinyPolicies.verifier, max_response_length: 64, optimizer },
        rollout: { batch_size: 6, group_size: 4, temperature, critique_temperature },
        schedule: {
          ...{ verifier_warmup_steps: 1, generator_steps: 1, total_training_steps: 2 },
          ...{ test_frequency: 0, save_frequency: 0 },
        },
        tuning: "default",
        samples_per_step: 24,
      });
      const lines = await loggedRun(gpu, config, join(folder, name));
      const samples = readJsonLines<Sample>(RunFolder.open(join(folder, name)).samples);
      return { lines, samples };
    };
    try {
      const same = await run("same", 1.3, null);
      assert.deepEqual(same, await run("said", 1.3, 1.3));
      const apart = await run("apart", 1.3, 0.6);
      const critiques = (sample: Sample) => sample.critiques.map(({ text }) => text);
      const solutions = ({ samples }: { samples: readonly Sample[] }) =>
        samples.map(({ step, problem, solution }) => ({ step, problem, solution }));
      assert.deepEqual(solutions(apart), solutions(same));
      for (const phase of ["verifier", "generator"]) {
        const [of, other] = [apart, same].map(({ samples }) =>
          samples.filter((sample) => sample.phase === phase).map(critiques)
        );
        assert.notDeepEqual(of, other, phase);
      }
      for (const line of apart.lines) {
        const difference = line["sampling/logp_difference/max"];
        if (difference === undefined) continue;
        // What trains computes what sampling did, at the same temperature.
        assert.equal(difference, 0, `step ${line.step}`);
        assert.ok(Number(line[`${line.phase}/entropy`]) > 0);
      }
      const [colder] = apart.lines.filter(({ phase }) => phase === "verifier");
      const [hotter] = same.lines.filter(({ phase }) => phase === "verifier");
      assert.ok(Number(colder["verifier/entropy"]) < Number(hotter["verifier/entropy"]));
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});
