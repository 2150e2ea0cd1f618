/** The folder that a fine-tuning leaves says how its model is asked. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { sftConfigSchema } from "../../src/run/config/sft_config_schema.ts";
import { fineTuneWithReport } from "../../src/run/session/sft_session.ts";
import { promptedAs, runOfModel } from "../../src/run/store/model_run.ts";
import { onEveryGpu } from "../kernels/harness.ts";
import { tinyArchitecture } from "./tiny_architecture.ts";
import { tinyTask } from "./tiny_policies.ts";

onEveryGpu("fine-tuning: output_directory's model is asked as it was trained", async (gpu) => {
  const folder = Deno.makeTempDirSync();
  try {
    const output_directory = join(folder, "models", "judge");
    const config = sftConfigSchema.parse({
      policy: "verifier",
      task: tinyTask,
      architecture: tinyArchitecture,
      batch_size: 2,
      prompt_template: "configs/prompts/short-verifier.txt",
      max_response_length: 37,
      schedule: { total_training_steps: 1, test_frequency: 1 },
      evaluation: { problems: 2 },
      tuning: "default",
      output_directory,
    });
    await fineTuneWithReport(gpu, config, join(folder, "run"), { resume: false });
    const run = runOfModel(output_directory);
    assert.ok(run?.kind === "sft");
    assert.deepEqual(run.config, config);
    assert.deepEqual(promptedAs("verifier", run), {
      chat: false,
      system_prompt: null,
      prompt_template: "configs/prompts/short-verifier.txt",
      max_response_length: 37,
    });
    assert.equal(promptedAs("generator", run), null);

    // The folder may be moved; a run around it says more than it does.
    const moved = join(folder, "elsewhere");
    Deno.renameSync(output_directory, moved);
    assert.deepEqual(runOfModel(moved), run);
    const inRun = join(folder, "run", "verifier");
    Deno.renameSync(moved, inRun);
    const changed = join(folder, "run", "config.yaml");
    Deno.writeTextFileSync(changed, Deno.readTextFileSync(changed).replace(": 37", ": 38"));
    const around = runOfModel(inRun);
    assert.ok(around?.kind === "sft");
    assert.equal(around.config.max_response_length, 38);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});
