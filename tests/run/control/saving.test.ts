/** Which checkpoints are written while updates are skipped: those asked for, not those that are due. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { loadTangoConfig } from "../../../src/run/config/load_config.ts";
import { RunControl } from "../../../src/run/control/run_control.ts";
import { RunEvents } from "../../../src/run/events/run_events.ts";
import { trainWithReport } from "../../../src/run/session/training_session.ts";
import { listCheckpoints } from "../../../src/run/store/checkpoint.ts";
import { readJsonLines } from "../../../src/run/store/json_lines_log.ts";
import type { MetricsLine } from "../../../src/run/store/metrics_log.ts";
import { RunFolder } from "../../../src/run/store/run_folder.ts";
import { gpuOf } from "../../kernels/harness.ts";
import { withTinyProject } from "../tiny_project.ts";

Deno.test({
  name: "skipped updates: no checkpoint that is due is written, but any that is asked for",
  // The device outlives a test on purpose: it is opened once per process.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    const gpu = await gpuOf("native");
    await withTinyProject(gpu, async (project) => {
      const config = loadTangoConfig(project.config, {
        steps: 5,
        set: [
          "verifier=null",
          // A gradient that overflows: every update is skipped, and the weights stay sound.
          "loss.entropy_coefficient=1e38",
          "generator.optimizer.maximum_skipped_updates=100",
          "schedule.save_frequency=1",
          "schedule.keep_checkpoints=9",
          "schedule.test_frequency=100",
        ],
      });
      const folder = RunFolder.at(join(project.folder, "run"));
      const events = new RunEvents();
      const control = new RunControl();
      const warnings: string[] = [];
      events.listen((event) => {
        if (event.type === "warning") warnings.push(event.message);
        if (event.type !== "step") return;
        if (event.step === 2) control.save();
        if (event.step === 4) control.stop();
      });
      const session = { resume: false, events, control };
      assert.equal(await trainWithReport(gpu, config, folder.path, session), false);
      const skipped = readJsonLines<MetricsLine>(folder.metrics)
        .flatMap((line) => line["generator/skipped_updates"] ?? []);
      assert.deepEqual(skipped, [1, 1, 1, 1], "or nothing is tested");
      assert.deepEqual(listCheckpoints(folder.checkpoints).map(({ step }) => step), [2, 4]);
      const left = warnings.filter((message) => message.includes("no checkpoint while"));
      assert.ok(left.some((message) => message.startsWith("step 1:")), warnings.join("\n"));
      // The last step saves as well.
      const resumed = { resume: true, events: new RunEvents(), control: new RunControl() };
      assert.equal(await trainWithReport(gpu, config, folder.path, resumed), true);
      assert.deepEqual(listCheckpoints(folder.checkpoints).map(({ step }) => step), [2, 4, 5]);
    });
  },
});
