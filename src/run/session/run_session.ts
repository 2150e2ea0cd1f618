import { alone, type Communicator } from "../../distributed/communicator.ts";
import { broadcastValue } from "../../distributed/values.ts";
import { driverOf } from "../../platform/gpus/gpu_list.ts";
import { programRevision } from "../../platform/process/program_revision.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import { removeIfPresent } from "../../platform/files/atomic_file.ts";
import { requireSameBits } from "../../kernels/choice/same_bits.ts";
import { type Input, startParts } from "../record/inputs.ts";
import type { RunEndpoint } from "../control/endpoint/run_endpoint.ts";
import type { RunControl } from "../control/run_control.ts";
import { EventLog } from "../events/event_log.ts";
import { RunEvents } from "../events/run_events.ts";
import type { Course, LoopConfig } from "../loop/course.ts";
import { restoreCourse } from "../loop/restore_course.ts";
import { train } from "../loop/training_loop.ts";
import type { MemoryPlan } from "../memory/memory_plan.ts";
import { withMemoryAdvice } from "../memory/out_of_memory.ts";
import type { Shrink } from "../memory/shrink.ts";
import type { RunFacts } from "../report/run_facts.ts";
import { describeWarnings } from "../report/warnings.ts";
import type { LogChoice } from "../events/run_logs.ts";
import { latestCheckpoint } from "../store/checkpoint.ts";
import { type DeviceFacts, factsOf, writeRunDevice } from "../store/run_device.ts";
import type { RunFolder } from "../store/run_folder.ts";
import type { StepClock } from "../trace/run_timeline.ts";
import type { TuningMode } from "../tuning/tune.ts";
import { keepRecords } from "./keep_records.ts";
import { prepareGpu } from "./prepare_gpu.ts";
import { openRunFolder } from "./shared_folder.ts";

/** A training method, as a session drives it. */
export interface Method<Config extends SessionConfig, Run extends Course<Config>> {
  /** Plans the GPU memory of a rank. */
  readonly plan: (gpu: Gpu, config: Config, ranks: Communicator) => Promise<MemoryPlan>;
  /** Changes that make a run smaller, those that cost least first. */
  readonly shrinks: readonly Shrink<Config>[];
  /** Loads what the configuration names; all ranks call it. */
  readonly open: (gpu: Gpu, config: Config, ranks: Communicator) => Promise<Run>;
  /** How often it tells of samples; null for a method without any. */
  readonly samples: (config: Config) => LogChoice["samples"];
  /** What it reads from the disk. */
  readonly inputs: (config: Config) => readonly Input[];
  readonly report: (folder: RunFolder, config: Config, facts: RunFacts) => void;
}

/** Keys of a run's configuration that a session itself reads. */
export interface SessionConfig extends LoopConfig {
  readonly memory_limit_gb: number | null;
  readonly report: { readonly tensorboard: boolean };
}

/** How a run is started, and who follows it. */
export interface SessionOptions<Run> {
  /** Goes on from the newest complete checkpoint in the folder. */
  readonly resume: boolean;
  /** Told what happens. */
  readonly events?: RunEvents;
  /** Asked between steps; of several ranks the first one's is. */
  readonly control?: RunControl;
  /** By which other processes reach the control; of several ranks the first one has it. */
  readonly endpoint?: RunEndpoint;
  /** Asked at the end of each step who waited, and how long. */
  readonly timeline?: StepClock;
  /** All ranks of the run; by default this process alone. */
  readonly ranks?: Communicator;
  /** Whether kernels are measured before; by default what the device can do suggests them. */
  readonly tuning?: TuningMode;
  /** Told on the first rank what a reader of the terminal should know, line by line. */
  readonly tell?: (line: string) => void;
  /** Told what memory the run will take on each rank, before any is taken. */
  readonly onPlan?: (plans: readonly MemoryPlan[]) => void;
  /** Told once the models are loaded. */
  readonly onOpen?: (run: Run) => void;
}

/**
 * Trains by a method to the end, or until asked to stop; writes the logs and the report, and returns all GPU memory.
 * An error is told as `failed` and thrown. Of several ranks, all of which call it, the first one writes.
 *
 * @param path the run's folder; made unless the run is resumed
 * @returns whether the run reached its end
 * @throws UserError when a file the configuration names is missing or the folder does not fit
 */
export async function runSession<Config extends SessionConfig, Run extends Course<Config>>(
  gpu: Gpu,
  method: Method<Config, Run>,
  config: Config,
  path: string,
  { resume, events = new RunEvents(), control, timeline, ranks = alone, ...options }:
    SessionOptions<Run>,
): Promise<boolean> {
  const { endpoint, tuning, tell, onPlan, onOpen } = options;
  const started = performance.now();
  let stepsDone = 0;
  using told = new DisposableStack();
  return await events.announceFailure(() => stepsDone, async () => {
    using opened = new DisposableStack();
    const planned = {
      config,
      limit: config.memory_limit_gb,
      plan: (changed: Config) => method.plan(gpu, changed, ranks),
      shrinks: method.shrinks,
    };
    const plans = await prepareGpu(gpu, planned, { ranks, tuning, tell });
    const { peakBytes: plannedBytes } = plans[ranks.rank];
    onPlan?.(plans);
    await requireSameBits(gpu);
    const folder = await openRunFolder(ranks, path, resume ? null : config);
    const isFirst = ranks.rank === 0;
    if (isFirst) told.use(new EventLog(folder, events));
    endpoint?.open(folder, gpu.pool);
    const newest = resume && isFirst ? latestCheckpoint(folder.checkpoints) : null;
    const checkpoint = await broadcastValue(ranks, newest);
    let run: Run;
    try {
      run = await method.open(gpu, config, ranks);
      opened.defer(() => run.close());
    } catch (error) {
      if (!resume && isFirst) folder.discardIfUnbegun();
      throw error;
    }
    const restored = checkpoint && await restoreCourse(checkpoint.path, run, folder);
    stepsDone = run.step;
    opened.use(events.listen((event) => {
      if (event.type === "step") stepsDone = event.step;
    }));
    const device: DeviceFacts = {
      ...factsOf(run.device),
      driver: driverOf(gpu.info) ?? undefined,
      program: programRevision() ?? undefined,
    };
    if (isFirst) {
      // The report is written last: while it is missing, the run is not finished.
      removeIfPresent(folder.report);
      writeRunDevice(folder, { ...run.device, ...device });
      opened.use(keepRecords({
        folder,
        events,
        stepsDone,
        // A run that died before its first checkpoint starts over, its logs too.
        resumed: resume
          ? { lastStep: checkpoint?.step ?? -1, chain: restored?.state.chain ?? "" }
          : undefined,
        logs: { samples: method.samples(config), tensorBoard: config.report.tensorboard },
        report: (reachedEnd) =>
          method.report(folder, config, {
            device: gpu.info,
            seconds: (performance.now() - started) / 1000,
            memory: { plannedBytes, peakBytes: gpu.pool.peakBytes },
            warnings: describeWarnings(folder),
            reachedEnd,
          }),
      }));
    }
    onOpen?.(run);
    const isRecorded = isFirst && !restored?.state.chain;
    const start = isRecorded
      ? await startParts(folder.configuration, method.inputs(config))
      : undefined;
    return await train(run, folder, { events, control, timeline, restored, start, device });
  }, (error) => withMemoryAdvice(error, config, method.shrinks));
}
