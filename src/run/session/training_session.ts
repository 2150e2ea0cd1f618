import { alone } from "../../distributed/communicator.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import { exists, removeIfPresent } from "../../base/atomic_file.ts";
import { keepRecords } from "./keep_records.ts";
import { openRunFolder } from "./shared_folder.ts";
import { requireSameBits } from "../../kernels/same_bits.ts";
import { writeRunDevice } from "../store/run_device.ts";
import { latestCheckpoint } from "../store/checkpoint.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import type { RunEndpoint } from "../control/endpoint/run_endpoint.ts";
import { EventLog } from "../events/event_log.ts";
import { RunEvents } from "../events/run_events.ts";
import type { MemoryPlan } from "../memory/memory_plan.ts";
import type { TuningMode } from "../tuning/tune.ts";
import { writeReport } from "../report/report.ts";
import type { RunFolder } from "../store/run_folder.ts";
import { planTangoMemory } from "../memory/tango_memory_plan.ts";
import { type RunSurroundings, TangoRun } from "../tango/tango_run.ts";
import { tangoShrinks } from "../memory/tango_shrinks.ts";
import { withMemoryAdvice } from "../memory/out_of_memory.ts";
import { prepareGpu } from "./prepare_gpu.ts";

/** How a run is started, and who follows it. */
export interface TrainingSessionOptions extends RunSurroundings {
  /** Told what memory the run will take on each rank, before any is taken. */
  readonly onPlan?: (plans: readonly MemoryPlan[]) => void;
  /** Whether kernels are measured before; by default what the device can do suggests them. */
  readonly tuning?: TuningMode;
  /** Told on the first rank what a reader of the terminal should know, line by line. */
  readonly tell?: (line: string) => void;
  /** Told once the models are loaded. */
  readonly onOpen?: (run: TangoRun) => void;
  /** By which other processes reach the control; of several ranks the first one has it. */
  readonly endpoint?: RunEndpoint;
}

/** Whether a folder holds all that a run of this configuration leaves behind. */
export function isFinished(folder: RunFolder, config: TangoConfig): boolean {
  const step = latestCheckpoint(folder.checkpoints)?.step ?? 0;
  const lastWritten = config.verifier?.trained ? "verifier" : "generator";
  return step >= config.schedule.total_training_steps && exists(folder.weights(lastWritten)) &&
    exists(folder.report);
}

/**
 * Trains to the end, or until asked to stop; writes the logs and the report, and returns all GPU memory.
 * An error is told as `failed` and thrown. Of several ranks, all of which call it, the first one writes.
 *
 * @param path the run's folder; made unless the run is resumed
 * @returns whether the run reached its last step
 * @throws UserError when a file the configuration names is missing or the folder does not fit
 */
export async function trainWithReport(
  gpu: Gpu,
  config: TangoConfig,
  path: string,
  {
    resume,
    events = new RunEvents(),
    control,
    timeline,
    ranks = alone,
    endpoint,
    tuning,
    tell,
    onPlan,
    onOpen,
  }: TrainingSessionOptions,
): Promise<boolean> {
  const started = performance.now();
  let stepsDone = 0;
  using told = new DisposableStack();
  return await events.announceFailure(() => stepsDone, async () => {
    const planned = {
      config,
      limit: config.memory_limit_gb,
      plan: (changed: TangoConfig) => planTangoMemory(gpu, changed, ranks),
      shrinks: tangoShrinks,
    };
    const plans = await prepareGpu(gpu, planned, { ranks, tuning, tell });
    const plan = plans[ranks.rank];
    onPlan?.(plans);
    await requireSameBits(gpu);
    const folder = await openRunFolder(ranks, path, resume ? null : config);
    if (ranks.rank === 0) told.use(new EventLog(folder, events));
    endpoint?.open(folder, gpu.pool);
    const run = await open(gpu, config, folder, { resume, events, control, timeline, ranks });
    try {
      stepsDone = run.globalSteps;
      using _counting = events.listen((event) => {
        if (event.type === "step") stepsDone = event.step;
      });
      // The report is written last: while it is missing, the run is not finished.
      if (ranks.rank === 0) {
        removeIfPresent(folder.report);
        writeRunDevice(folder, run.device);
      }
      using _records = ranks.rank > 0 ? null : keepRecords({
        folder,
        events,
        stepsDone,
        lastLoggedStep: run.lastLoggedStep,
        logs: { samples: true, tensorBoard: config.report.tensorboard },
        report: (isFinished) =>
          writeReport(folder, {
            config,
            adapter: { name: gpu.info.name, isSoftware: gpu.info.software },
            engine: gpu.info.engine,
            seconds: (performance.now() - started) / 1000,
            memory: { plannedBytes: plan.peakBytes, peakBytes: gpu.pool.peakBytes },
            isFinished,
          }),
      });
      onOpen?.(run);
      return await run.train();
    } finally {
      run.close();
    }
  }, (error) => withMemoryAdvice(error, config, tangoShrinks));
}

async function open(
  gpu: Gpu,
  config: TangoConfig,
  folder: RunFolder,
  surroundings: RunSurroundings,
): Promise<TangoRun> {
  try {
    return await TangoRun.open(gpu, config, folder, surroundings);
  } catch (error) {
    const { resume, ranks = alone } = surroundings;
    if (!resume && ranks.rank === 0) folder.discardIfUnbegun();
    throw error;
  }
}
