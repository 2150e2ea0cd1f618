import { alone, type Communicator } from "../../distributed/communicator.ts";
import { broadcastValue } from "../../distributed/values.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import { writeRunDevice } from "../store/run_device.ts";
import { latestCheckpoint } from "../store/checkpoint.ts";
import type { RunEndpoint } from "../control/endpoint/run_endpoint.ts";
import type { RunControl } from "../control/run_control.ts";
import { EventLog } from "../events/event_log.ts";
import { RunEvents } from "../events/run_events.ts";
import type { MemoryPlan } from "../memory/memory_plan.ts";
import type { TuningMode } from "../tuning/tune.ts";
import type { StepClock } from "../trace/run_timeline.ts";
import { planSftMemory, sftShrinks } from "../memory/sft_memory_plan.ts";
import type { SftConfig } from "../config/sft_config_schema.ts";
import { writeSftReport } from "../report/sft_report.ts";
import { SftRun, sftWeights } from "../sft/sft_run.ts";
import { keepRecords } from "./keep_records.ts";
import { openRunFolder } from "./shared_folder.ts";
import { withMemoryAdvice } from "../memory/out_of_memory.ts";
import { prepareGpu } from "./prepare_gpu.ts";

/** How fine-tuning is started, and who follows it. */
export interface SftSessionOptions {
  /** Continue from the newest checkpoint in the folder. */
  readonly resume: boolean;
  /** The device in words, for the report. */
  readonly device: string;
  /** Told what happens. */
  readonly events?: RunEvents;
  /** Asked between updates; of several ranks the first one's is. */
  readonly control?: RunControl;
  /** Asked at the end of each update who waited, and how long. */
  readonly timeline?: StepClock;
  /** All ranks of the run; by default this process alone. */
  readonly ranks?: Communicator;
  /** Told what memory the run will take on each rank, before any is taken. */
  readonly onPlan: (plans: readonly MemoryPlan[]) => void;
  /** Whether kernels are measured before; by default what the device can do suggests them. */
  readonly tuning?: TuningMode;
  /** Told on the first rank what a reader of the terminal should know, line by line. */
  readonly tell?: (line: string) => void;
  /** Told once the model is there. */
  readonly onOpen: (run: SftRun) => void;
  /** By which other processes reach the control; of several ranks the first one has it. */
  readonly endpoint?: RunEndpoint;
}

/**
 * Fine-tunes one policy to the end, or until asked to stop; writes the log, its weights and the report, and
 * returns all GPU memory. An error is told as `failed` and thrown. Of several ranks, all of which call it,
 * the first one writes.
 *
 * @param path the run's folder; made unless the run is resumed
 * @returns whether the run came to its end
 * @throws UserError when a file the configuration names is missing or the folder does not fit
 */
export async function fineTuneWithReport(
  gpu: Gpu,
  config: SftConfig,
  path: string,
  {
    resume,
    device,
    events = new RunEvents(),
    control,
    endpoint,
    timeline,
    ranks = alone,
    tuning,
    tell,
    onPlan,
    onOpen,
  }: SftSessionOptions,
): Promise<boolean> {
  const started = performance.now();
  let stepsDone = 0;
  using told = new DisposableStack();
  return await events.announceFailure(() => stepsDone, async () => {
    const planned = {
      config,
      limit: config.memory_limit_gb,
      plan: (changed: SftConfig) => planSftMemory(gpu, changed, ranks),
      shrinks: sftShrinks,
    };
    const plans = await prepareGpu(gpu, planned, { ranks, tuning, tell });
    const plan = plans[ranks.rank];
    onPlan(plans);
    const run = await SftRun.open(gpu, config, ranks);
    try {
      const folder = await openRunFolder(ranks, path, resume ? null : config);
      if (ranks.rank === 0) told.use(new EventLog(folder, events));
      endpoint?.open(folder, gpu.pool);
      const checkpoint = await broadcastValue(
        ranks,
        resume && ranks.rank === 0 ? latestCheckpoint(folder.checkpoints) : null,
      );
      if (checkpoint) await run.restore(checkpoint.path);
      stepsDone = run.step;
      using _counting = events.listen((event) => {
        if (event.type === "step") stepsDone = event.step;
      });
      using _records = ranks.rank > 0 ? null : keepRecords({
        folder,
        events,
        stepsDone,
        // What came after the checkpoint is done again.
        lastLoggedStep: resume ? stepsDone || -1 : undefined,
        logs: { samples: false, tensorBoard: config.report.tensorboard },
        report: (reachedEnd) =>
          writeSftReport(folder, {
            config,
            device,
            weights: reachedEnd ? sftWeights(folder, config) : null,
            seconds: (performance.now() - started) / 1000,
            memory: { plannedBytes: plan.peakBytes, peakBytes: gpu.pool.peakBytes },
          }),
      });
      if (ranks.rank === 0) writeRunDevice(folder, run.device);
      onOpen(run);
      return await run.train(folder, { events, control, timeline });
    } finally {
      run.close();
    }
  }, (error) => withMemoryAdvice(error, config, sftShrinks));
}
