import { join } from "node:path";
import type { Gpu } from "../../src/gpu/gpu.ts";
import { sftConfigSchema } from "../../src/run/config/sft_config_schema.ts";
import { train } from "../../src/run/loop/training_loop.ts";
import { SftRun } from "../../src/run/sft/sft_run.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";

/** Problems so easy that the tiny policies solve and judge some of them. */
export const tinyTask = {
  name: "last-letter",
  minimum_steps: 1,
  maximum_steps: 1,
  minimum_letters: 2,
  maximum_letters: 2,
};

/**
 * Writes two policies of some 20,000 parameters, trained just long enough that their responses earn
 * format rewards of all sizes: a random model earns none, and nothing would be trained.
 *
 * @returns the folders' paths
 */
export async function writeTinyPolicies(
  gpu: Gpu,
  folder: string,
): Promise<{ generator: string; verifier: string }> {
  const policies = { generator: join(folder, "generator"), verifier: join(folder, "verifier") };
  for (const policy of ["generator", "verifier"] as const) {
    const sft = await SftRun.open(
      gpu,
      sftConfigSchema.parse({
        policy,
        task: tinyTask,
        architecture: {
          hidden_size: 32,
          layers: 2,
          attention_heads: 4,
          key_value_heads: 2,
          intermediate_size: 48,
        },
        optimizer: { learning_rate: 0.01 },
        batch_size: 16,
        schedule: { total_training_steps: 150, test_frequency: 1000 },
        evaluation: { problems: 1 },
      }),
    );
    await train(sft, RunFolder.at(join(folder, `${policy}-sft`)));
    await sft.save(policies[policy]);
    sft.close();
  }
  return policies;
}
