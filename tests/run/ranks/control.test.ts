/** What is asked of a run of several ranks is asked of the first. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { Gpu } from "../../../src/gpu/gpu.ts";
import { loadTangoConfig } from "../../../src/run/config/load_config.ts";
import { RunControl } from "../../../src/run/control/run_control.ts";
import { RunEvents } from "../../../src/run/events/run_events.ts";
import { trainWithReport } from "../../../src/run/session/training_session.ts";
import { onRanks } from "../../distributed/in_process.ts";
import { withTinyProject } from "../tiny_project.ts";

Deno.test({
  name: "ranks: settings change, and the run pauses, goes on, saves and stops, on all of them",
  // The GPU outlives its closing by a few timers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    const gpus = await Promise.all([0, 1].map(() => Gpu.open("auto")));
    await withTinyProject(gpus[0], async (project) => {
      const config = loadTangoConfig(project.config, {
        set: ["reduction.shards=2", "schedule.save_frequency=0", "schedule.test_frequency=0"],
      });
      const control = new RunControl();
      const train = (resume: boolean) =>
        onRanks(2, async (ranks) => {
          const events = new RunEvents();
          const told: string[] = [];
          events.listen((event) => {
            const isTold = !["phaseBegan", "phaseEnded", "samples", "record"].includes(event.type);
            if (isTold && "step" in event) told.push(`${event.type} ${event.step}`);
            if (ranks.rank > 0 || resume) return;
            if (event.type === "started") control.change({ "rollout.temperature": 0.5 });
            if (event.type === "step" && event.step === 1) control.pause();
            if (event.type === "paused") {
              control.change({ "generator.optimizer.learning_rate": 0.02 });
              setTimeout(() => control.goOn(), 20);
            }
            if (event.type === "step" && event.step === 2) control.save();
            if (event.type === "step" && event.step === 3) control.stop();
          });
          const reachedEnd = await trainWithReport(
            gpus[ranks.rank],
            config,
            join(project.folder, "run"),
            { resume, events, ranks, ...(ranks.rank === 0 && !resume ? { control } : {}) },
          );
          return { told, reachedEnd };
        });
      const expected = [
        ...["started 0", "changed 1", "step 1", "paused 1", "continued 1", "changed 2", "step 2"],
        ...["checkpoint 2", "step 3", "checkpoint 3", "finished 3"],
      ];
      for (const { told, reachedEnd } of await train(false)) {
        assert.deepEqual(told, expected);
        assert.equal(reachedEnd, false);
      }
      const resumed = ["started 3", "step 4", "step 5", "checkpoint 5", "finished 5"];
      for (const { told } of await train(true)) assert.deepEqual(told, resumed);
    });
    for (const gpu of gpus) gpu.close();
  },
});

Deno.test({
  name: "ranks: updates that are skipped in a row end the run on all of them",
  // The GPU outlives its closing by a few timers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    const gpus = await Promise.all([0, 1].map(() => Gpu.open("auto")));
    await withTinyProject(gpus[0], async (project) => {
      const config = loadTangoConfig(project.config, {
        set: [
          ...["verifier=null", "reduction.shards=2", "schedule.test_frequency=0"],
          // A gradient that overflows.
          ...["loss.entropy_coefficient=1e38", "generator.optimizer.maximum_skipped_updates=2"],
        ],
      });
      const ends = await onRanks(2, async (ranks) => {
        const run = trainWithReport(gpus[ranks.rank], config, join(project.folder, "run"), {
          resume: false,
          ranks,
        });
        return await run.then(
          () => "reached its end",
          ({ name, message }: Error) => name + message,
        );
      });
      assert.match(ends[0], /^DivergenceStep 2 ends the run: /);
      assert.equal(ends[1], ends[0]);
    });
    for (const gpu of gpus) gpu.close();
  },
});
