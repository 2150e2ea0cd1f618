import type { Communicator } from "../../distributed/communicator.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import { requireSameBits } from "../../kernels/choice/same_bits.ts";
import type { Stretch } from "../audit/chosen_steps.ts";
import { replay, type Replayed } from "../audit/replay.ts";
import type { Course } from "../loop/course.ts";
import type { StoredRun } from "../record/stored_run.ts";
import { sftWeights } from "../sft/sft_run.ts";
import type { RecordLine } from "../store/audit_log.ts";
import type { RunDevice } from "../store/run_device.ts";
import type { RunFolder } from "../store/run_folder.ts";
import { prepareGpu } from "./prepare_gpu.ts";
import type { Method, SessionConfig } from "./run_session.ts";
import { fineTuning } from "./sft_session.ts";
import { tango } from "./training_session.ts";

/** Where it leaves a policy's weights. */
export function modelFolderOf(run: StoredRun, folder: RunFolder, policy: string): string {
  if (run.kind === "sft") return sftWeights(folder, run.config);
  return folder.weights(policy === "verifier" ? "verifier" : "generator");
}

/** How a run is done again, and who is told. */
export interface ReplayOptions {
  readonly ranks: Communicator;
  readonly stretches: readonly Stretch[];
  readonly records: readonly RecordLine[];
  /** Told on the first rank what a reader of the terminal should know, line by line. */
  readonly tell?: (line: string) => void;
  /** Told the device before the first step. */
  readonly onDevice: (device: RunDevice) => void;
  readonly onRecord: (replayed: Replayed) => void;
}

/**
 * Does stretches of a run again, each from a checkpoint or from the beginning, and writes nothing. All ranks call it.
 *
 * @throws UserError when a file that the configuration names is missing, or a checkpoint cannot be used
 */
export async function replayRun(
  gpu: Gpu,
  run: StoredRun,
  folder: RunFolder,
  options: ReplayOptions,
): Promise<void> {
  if (run.kind === "sft") await replayBy(gpu, fineTuning, run.config, folder, options);
  else await replayBy(gpu, tango, run.config, folder, options);
}

async function replayBy<Config extends SessionConfig, Run extends Course<Config>>(
  gpu: Gpu,
  method: Method<Config, Run>,
  config: Config,
  folder: RunFolder,
  { ranks, stretches, records, tell, onDevice, onRecord }: ReplayOptions,
): Promise<void> {
  const planned = {
    config,
    limit: config.memory_limit_gb,
    plan: (changed: Config) => method.plan(gpu, changed, ranks),
    shrinks: method.shrinks,
  };
  await prepareGpu(gpu, planned, { ranks, tell });
  await requireSameBits(gpu);
  for (const [place, stretch] of stretches.entries()) {
    const course = await method.open(gpu, config, ranks);
    try {
      if (place === 0) onDevice(course.device);
      await replay<Config>(course, folder, stretch, records, onRecord);
    } finally {
      course.close();
    }
  }
}
