import type { Gpu } from "../../gpu/gpu.ts";
import { exists, removeIfPresent } from "../../base/atomic_file.ts";
import { latestCheckpoint, skippedCheckpoints } from "../store/checkpoint.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { Interrupt } from "../progress/interrupt.ts";
import { checkMemory } from "../memory/memory_check.ts";
import type { MemoryPlan } from "../memory/memory_plan.ts";
import { Progress } from "../progress/progress.ts";
import { writeReport } from "../report/report.ts";
import { RunFolder } from "../store/run_folder.ts";
import { planTangoMemory } from "../memory/tango_memory_plan.ts";
import { TangoRun } from "./tango_run.ts";
import { tangoShrinks } from "../memory/tango_shrinks.ts";

/** How a run is started and shown. */
export interface TrainingSessionOptions {
  /** Continue from the newest checkpoint in the folder. */
  readonly resume: boolean;
  /** Stands at the beginning of every progress line. */
  readonly label?: string;
  /** Told what memory the run will take, before any is taken. */
  readonly onPlan?: (plan: MemoryPlan) => void;
  /** Told once the models are loaded. */
  readonly onOpen?: (run: TangoRun) => void;
}

/** Whether a folder holds all that a run of this configuration leaves behind. */
export function isFinished(folder: RunFolder, config: TangoConfig): boolean {
  const step = latestCheckpoint(folder.checkpoints)?.step ?? 0;
  const lastWritten = config.verifier?.trained ? "verifier" : "generator";
  return step >= config.schedule.total_training_steps && exists(folder.weights(lastWritten)) &&
    exists(folder.report);
}

/**
 * Trains to the end, or until Ctrl-C and then to the end of the step, with live progress; writes the
 * report either way and returns all GPU memory.
 *
 * @param path the run's folder; made unless the run is resumed
 * @returns whether the run reached its last step
 * @throws UserError when a file the configuration names is missing or the folder does not fit
 */
export async function trainWithReport(
  gpu: Gpu,
  config: TangoConfig,
  path: string,
  { resume, label, onPlan, onOpen }: TrainingSessionOptions,
): Promise<boolean> {
  const started = performance.now();
  const plan = await checkMemory(gpu, {
    config,
    limit: config.memory_limit_gb,
    plan: (changed) => planTangoMemory(gpu, changed),
    shrinks: tangoShrinks,
  });
  onPlan?.(plan);
  const folder = resume ? RunFolder.open(path) : RunFolder.create(path, config);
  for (const { path } of skippedCheckpoints(folder.checkpoints)) {
    console.error(`${path} is not whole and is passed over; its steps are done again.`);
  }
  let progress: Progress | null = null;
  const tell = (text: string) => progress ? progress.note(text) : console.error(text);
  using interrupt = new Interrupt(() =>
    tell("Stopping after this step; Ctrl-C again stops at once, without saving it.")
  );
  const run = await open(gpu, config, folder, resume);
  // The report is written last: while it is missing, the run is not finished.
  removeIfPresent(folder.report);
  let reachedEnd: boolean;
  try {
    onOpen?.(run);
    progress = new Progress(config.schedule.total_training_steps, label);
    reachedEnd = await run.train(progress, () => interrupt.isRequested());
  } finally {
    progress?.close();
    run.close();
  }
  writeReport(folder, {
    config,
    adapter: { name: gpu.info.name, isSoftware: gpu.info.software },
    engine: gpu.info.engine,
    seconds: (performance.now() - started) / 1000,
    memory: { plannedBytes: plan.peakBytes, peakBytes: gpu.pool.peakBytes },
    isFinished: reachedEnd,
  });
  return reachedEnd;
}

async function open(
  gpu: Gpu,
  config: TangoConfig,
  folder: RunFolder,
  resume: boolean,
): Promise<TangoRun> {
  try {
    return await TangoRun.open(gpu, config, folder, { resume });
  } catch (error) {
    if (!resume) folder.discardIfUnbegun();
    throw error;
  }
}
