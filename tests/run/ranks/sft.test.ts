/** Fine-tuning over ranks: the same bytes on any number of them. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { Gpu } from "../../../src/gpu/gpu.ts";
import { loadSftConfig } from "../../../src/run/config/load_config.ts";
import { type SftConfig, sftConfigSchema } from "../../../src/run/config/sft_config_schema.ts";
import { RunEvents } from "../../../src/run/events/run_events.ts";
import { fineTuneWithReport } from "../../../src/run/session/sft_session.ts";
import { onRanks } from "../../distributed/in_process.ts";
import { assertSameFiles } from "../killable_runs.ts";
import { writePairs } from "../tiny_pairs.ts";
import { withTinyProject } from "../tiny_project.ts";

const compared = [
  "metrics.jsonl",
  "audit.jsonl",
  "generator/model.safetensors",
  "best/generator/model.safetensors",
];

/** Fine-tunes on so many ranks, up to a step in which they are killed. */
async function tune(
  gpus: readonly Gpu[],
  config: SftConfig,
  path: string,
  size: number,
  { resume = false, until = Infinity } = {},
): Promise<void> {
  await onRanks(size, async (ranks) => {
    const events = new RunEvents();
    events.listen((event) => {
      if (event.type === "step" && event.step === until) throw new Error("killed");
    });
    await fineTuneWithReport(gpus[ranks.rank], config, path, {
      ...{ resume, events, ranks },
      ...{ onPlan: () => {}, onOpen: () => {} },
    });
  });
}

Deno.test({
  name: "ranks: fine-tuning on 1 and 3, and killed on 3, resumed on 2",
  // The GPU outlives its closing by a few timers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    const gpus = await Promise.all([0, 1, 2].map(() => Gpu.open("auto")));
    await withTinyProject(gpus[0], async (project) => {
      const config = loadSftConfig(project.sftConfig, {
        set: [
          ...["batch_size=7", "reduction.shards=4"],
          ...["schedule.total_training_steps=5", "schedule.test_frequency=2"],
          ...["schedule.save_frequency=2", "schedule.keep_best=true"],
        ],
      });
      const tuneAs = (name: string, size: number, changes = {}) =>
        tune(gpus, config, join(project.folder, name), size, changes);
      await tuneAs("one", 1);
      await tuneAs("three", 3);
      assertSameFiles(join(project.folder, "three"), join(project.folder, "one"), compared);
      await assert.rejects(tuneAs("killed", 3, { until: 3 }), /killed/);
      await tuneAs("killed", 2, { resume: true });
      assertSameFiles(join(project.folder, "killed"), join(project.folder, "one"), compared);
    });
    for (const gpu of gpus) gpu.close();
  },
});

Deno.test({
  name: "ranks: pairs of responses on 1 and 3",
  // The GPU outlives its closing by a few timers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    const gpus = await Promise.all([0, 1, 2].map(() => Gpu.open("auto")));
    await withTinyProject(gpus[0], async ({ generator, folder }) => {
      const config = sftConfigSchema.parse({
        policy: "generator",
        initial_model: generator,
        data: writePairs((name) => join(folder, name)),
        preferences: {},
        batch_size: 7,
        reduction: { shards: 4 },
        schedule: { total_training_steps: 3, test_frequency: 2 },
      });
      for (const size of [1, 3]) await tune(gpus, config, join(folder, `on-${size}`), size);
      const files = ["metrics.jsonl", "audit.jsonl", "generator/model.safetensors"];
      assertSameFiles(join(folder, "on-3"), join(folder, "on-1"), files);
    });
    for (const gpu of gpus) gpu.close();
  },
});
