import type { Gpu } from "../../gpu/gpu.ts";
import { latestCheckpoint } from "../store/checkpoint.ts";
import type { RunControl } from "../control/run_control.ts";
import { RunEvents } from "../events/run_events.ts";
import { RunLogs } from "../events/run_logs.ts";
import { warnOfSkippedCheckpoints } from "../events/skipped_checkpoints.ts";
import { checkMemory } from "../memory/memory_check.ts";
import type { MemoryPlan } from "../memory/memory_plan.ts";
import { RunFolder } from "../store/run_folder.ts";
import { planSftMemory, sftShrinks } from "../memory/sft_memory_plan.ts";
import type { SftConfig } from "../config/sft_config_schema.ts";
import { writeSftReport } from "../report/sft_report.ts";
import { SftRun, sftWeights } from "../sft/sft_run.ts";

/** How fine-tuning is started, and who follows it. */
export interface SftSessionOptions {
  /** Continue from the newest checkpoint in the folder. */
  readonly resume: boolean;
  /** The device in words, for the report. */
  readonly device: string;
  /** Told what happens. */
  readonly events?: RunEvents;
  /** Asked between updates. */
  readonly control?: RunControl;
  /** Told what memory the run will take, before any is taken. */
  readonly onPlan: (plan: MemoryPlan) => void;
  /** Told once the model is there. */
  readonly onOpen: (run: SftRun) => void;
}

/**
 * Fine-tunes one policy to the end, or until asked to stop; writes the log, its weights and the report, and
 * returns all GPU memory. An error is told as `failed` and thrown.
 *
 * @param path the run's folder; made unless the run is resumed
 * @returns whether the run came to its end
 * @throws UserError when a file the configuration names is missing or the folder does not fit
 */
export async function fineTuneWithReport(
  gpu: Gpu,
  config: SftConfig,
  path: string,
  { resume, device, events = new RunEvents(), control, onPlan, onOpen }: SftSessionOptions,
): Promise<boolean> {
  const started = performance.now();
  let stepsDone = 0;
  return await events.announceFailure(() => stepsDone, async () => {
    const plan = await checkMemory(gpu, {
      config,
      limit: config.memory_limit_gb,
      plan: (changed) => planSftMemory(gpu, changed),
      shrinks: sftShrinks,
    });
    onPlan(plan);
    const run = await SftRun.open(gpu, config);
    try {
      const folder = resume ? RunFolder.open(path) : RunFolder.create(path, config);
      const checkpoint = resume ? latestCheckpoint(folder.checkpoints) : null;
      if (checkpoint) await run.restore(checkpoint.path);
      stepsDone = run.step;
      warnOfSkippedCheckpoints(events, folder, stepsDone);
      // What came after the checkpoint is done again.
      using logs = new RunLogs(folder, resume ? run.step || -1 : undefined, { samples: false });
      using _logging = events.listen((event) => logs.hear(event));
      using _reporting = events.listen((event) => {
        if (event.type === "step") stepsDone = event.step;
        if (event.type !== "finished") return;
        writeSftReport(folder, {
          config,
          device,
          weights: event.reachedEnd ? sftWeights(folder, config) : null,
          seconds: (performance.now() - started) / 1000,
          memory: { plannedBytes: plan.peakBytes, peakBytes: gpu.pool.peakBytes },
        });
      });
      onOpen(run);
      return await run.train(folder, { events, control });
    } finally {
      run.close();
    }
  });
}
