/** Fine-tuning of weights in 16 bits: what is stored, and a run that goes on. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { sftConfigSchema } from "../../src/run/config/sft_config_schema.ts";
import { bfloat16ToFloat32, float32ToBfloat16 } from "../../src/model/decoder/half_precision.ts";
import { loadModel } from "../../src/model/weights/model_folder.ts";
import { fineTuneWithReport } from "../../src/run/session/sft_session.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";
import { onEveryGpu } from "../kernels/harness.ts";
import { tinyArchitecture } from "./tiny_architecture.ts";
import { tinyTask } from "./tiny_policies.ts";

onEveryGpu(
  "fine-tuning in bfloat16: its matrices are rounded, norms are not, and a resumed run ends the same",
  async (gpu) => {
    const folder = Deno.makeTempDirSync();
    try {
      const config = sftConfigSchema.parse({
        policy: "verifier",
        task: tinyTask,
        architecture: tinyArchitecture,
        trained_dtype: "bfloat16",
        batch_size: 4,
        max_response_length: 64,
        optimizer: { learning_rate: 0.003 },
        schedule: { total_training_steps: 4, test_frequency: 4, save_frequency: 2 },
        evaluation: { problems: 2 },
        tuning: "default",
      });
      const run = RunFolder.at(join(folder, "run"));
      const end = join(run.checkpoints, "step-000004");
      const saved = () => Deno.readFileSync(join(end, "verifier.safetensors"));
      assert.equal(await fineTuneWithReport(gpu, config, run.path, { resume: false }), true);
      const whole = saved();
      Deno.removeSync(end, { recursive: true });
      assert.equal(await fineTuneWithReport(gpu, config, run.path, { resume: true }), true);
      assert.deepEqual(saved(), whole);

      const model = await loadModel(gpu, run.weights("verifier"), { trained: false });
      const weights = await model.parameters.read();
      let unrounded = 0;
      for (const [name, values] of Object.entries(weights)) {
        const rounded = bfloat16ToFloat32(float32ToBfloat16(values));
        const differing = values.filter((value, i) => value !== rounded[i]).length;
        if (/norm/.test(name)) unrounded += differing;
        else assert.equal(differing, 0, name);
      }
      assert.ok(unrounded > 0, "norms are trained in f32");
      model.release();
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
);
