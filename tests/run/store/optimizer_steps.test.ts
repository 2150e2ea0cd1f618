import assert from "node:assert/strict";
import { join } from "node:path";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import { loadTangoConfig } from "../../../src/run/config/load_config.ts";
import type { MetricsLine } from "../../../src/run/store/metrics_log.ts";
import { openPolicies, releasePolicies } from "../../../src/run/tango/policies.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { loggedRun } from "../logged_run.ts";
import { withTinyProject } from "../tiny_project.ts";

/** The first generator step's metrics, with rewards that a random model earns too. */
async function firstStep(gpu: Gpu, set: readonly string[]): Promise<MetricsLine> {
  let line: MetricsLine | undefined;
  await withTinyProject(gpu, async ({ folder, config: file }) => {
    const module = join(folder, "reward.ts");
    Deno.writeTextFileSync(module, "export default ({ response }) => response.length;");
    const config = loadTangoConfig(file, {
      set: [
        ...set,
        `rewards.module=${module}`,
        "verifier=null",
        "schedule.total_training_steps=1",
        "schedule.test_frequency=0",
        "generator.optimizer.learning_rate=0.02",
      ],
    });
    [line] = await loggedRun(gpu, config, join(folder, "run"));
  });
  assert.ok(line);
  return line;
}

onEveryGpu("optimizer steps: the ratio moves with the second, and only then", async (gpu) => {
  const once = await firstStep(gpu, []);
  assert.equal(once["generator/ratio"], 1);
  assert.equal(once["generator/clip_ratio"], 0);
  const often = await firstStep(gpu, ["loss.mini_batches=2", "loss.epochs=2"]);
  assert.notEqual(often["generator/ratio"], 1);
  assert.ok(Number(often["generator/clip_ratio"]) > 0);
  assert.equal(often["generator/response_tokens"], 2 * Number(once["generator/response_tokens"]));
  assert.equal(often["generator/reward"], once["generator/reward"], "the rollout is the same");
  assert.equal(often["sampling/logp_difference/max"], 0);
});

onEveryGpu("policies: without a KL term no reference takes memory", async (gpu) => {
  await withTinyProject(gpu, async ({ config: file }) => {
    const opened = async (coefficient: number, set: readonly string[] = []) => {
      const config = loadTangoConfig(file, {
        set: [`loss.kl_coefficient=${coefficient}`, ...set],
      });
      const before = gpu.pool.liveBytes;
      const policies = await openPolicies(gpu, config);
      const { generator, verifier } = policies;
      assert.ok(verifier);
      const facts = {
        bytes: gpu.pool.liveBytes - before,
        references: [generator, verifier].map(({ engine: { here } }) => here?.reference !== null),
        weightBytes: [generator, verifier].map(({ parameterCount }) => 4 * parameterCount.model),
      };
      releasePolicies(policies);
      return facts;
    };
    const without = await opened(0);
    assert.deepEqual(without.references, [false, false]);
    const whole = await opened(0.001);
    assert.deepEqual(whole.references, [true, true]);
    const [generator, verifier] = whole.weightBytes;
    assert.ok(whole.bytes - without.bytes >= generator + verifier);
    const frozen = await opened(0.001, ["verifier.trained=false"]);
    assert.deepEqual(frozen.references, [true, false], "what is not trained needs none");
  });
});
