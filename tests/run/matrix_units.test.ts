/** A run whose products are made on matrix units. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { loadTangoConfig } from "../../src/run/config/load_config.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";
import { onMatrixUnits } from "../kernels/on_matrix_units.ts";
import { loggedRun } from "./logged_run.ts";
import { withTinyProject } from "./tiny_project.ts";

onMatrixUnits(
  "a run on matrix units trains on what it sampled, bit for bit, and says how it sums",
  ["f16", "f16-pair", "f32-matrix"],
  async (gpu, precision) => {
    await withTinyProject(gpu, async ({ config: file, folder }) => {
      const path = join(folder, "run");
      const set = ["schedule.total_training_steps=2", `precision=${precision}`];
      const lines = await loggedRun(gpu, loadTangoConfig(file, { set }), path);
      const differences = lines.flatMap((line) => line["sampling/logp_difference/max"] ?? []);
      assert.deepEqual(differences, [0, 0]);
      const { bits } = JSON.parse(Deno.readTextFileSync(RunFolder.open(path).device));
      assert.equal(
        bits,
        { "f16": "mma", "f16-pair": "mma-pair", "f32-matrix": "mma-f32" }[precision],
      );
    });
  },
);
