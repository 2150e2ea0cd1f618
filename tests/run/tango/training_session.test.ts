import assert from "node:assert/strict";
import { join } from "node:path";
import { exists } from "../../../src/base/atomic_file.ts";
import { latestCheckpoint } from "../../../src/run/store/checkpoint.ts";
import { loadTangoConfig } from "../../../src/run/config/load_config.ts";
import { RunFolder } from "../../../src/run/store/run_folder.ts";
import { isFinished, trainWithReport } from "../../../src/run/tango/training_session.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { withTinyProject } from "../tiny_project.ts";

onEveryGpu("training session: a whole run, its files, and all GPU memory back", async (gpu) => {
  await withTinyProject(gpu, async (project) => {
    const config = loadTangoConfig(project.config, {
      set: ["schedule.save_frequency=0", "loss.kl_coefficient=0.1"],
    });
    const folder = RunFolder.at(join(project.folder, "run"));
    const before = gpu.pool.liveBytes;
    assert.equal(await trainWithReport(gpu, config, folder.path, { resume: false }), true);
    assert.equal(gpu.pool.liveBytes, before);
    assert.equal(latestCheckpoint(folder.checkpoints)?.step, 5, "the end is saved in any case");
    assert.ok(isFinished(folder, config));
    assert.ok(
      !isFinished(folder, {
        ...config,
        schedule: { ...config.schedule, total_training_steps: 6 },
      }),
    );
    for (const file of [folder.report, folder.curves, folder.metrics, folder.samples]) {
      assert.ok(Deno.statSync(file).size > 0, file);
    }
  });
});

onEveryGpu("training session: a run that cannot begin leaves no folder", async (gpu) => {
  await withTinyProject(gpu, async (project) => {
    const config = loadTangoConfig(project.config, { set: ["generator.model=nowhere"] });
    const path = join(project.folder, "run");
    await assert.rejects(trainWithReport(gpu, config, path, { resume: false }), {
      name: "UserError",
      message: /There is no model nowhere; expected a folder/,
    });
    assert.ok(!exists(path));
  });
});
