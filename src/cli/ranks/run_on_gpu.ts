import type { OpenCommunicator } from "../../distributed/open_communicator.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import type { DistributedConfig } from "../../run/config/shared_schema.ts";
import type { RunEvents } from "../../run/events/run_events.ts";
import type { RunFolder } from "../../run/store/run_folder.ts";
import { type RunCommand, withResumeHint } from "../resume_hint.ts";
import { type GpuKeys, gpuOf, withGpu } from "../with_gpu.ts";
import { gpuOfRank } from "./gpu_of_rank.ts";
import { whileWatched } from "./while_watched.ts";

/** A run, as far as the one that opens its GPU has to know it. */
export interface RunOnGpu {
  readonly config: GpuKeys & { readonly distributed: DistributedConfig };
  /** What `--gpu-index` says. */
  readonly gpuIndex?: number;
  /** Null: the run is only looked at. */
  readonly command: RunCommand | null;
  readonly folder: RunFolder;
  readonly events: RunEvents;
}

/**
 * Runs `body` on this rank's GPU, while the ranks watch each other. What ends it says how to go on.
 *
 * @throws UserError when there is no such GPU; what `withResumeHint` and `whileWatched` throw
 */
export async function runOnGpu<Result>(
  opened: OpenCommunicator,
  { config, gpuIndex, ...run }: RunOnGpu,
  body: (gpu: Gpu) => Promise<Result>,
): Promise<Result> {
  return await withResumeHint(run.command, run.folder, async () => {
    const { index, words } = await gpuOfRank(opened, gpuIndex);
    const watched = { ...run, opened, gpu: words, limits: config.distributed };
    return await whileWatched(
      watched,
      (watch) =>
        withGpu(gpuOf(config, index), (gpu) => {
          gpu.activity.reads = watch;
          // All ranks read the same.
          if (opened.communicator.rank > 0) gpu.activity.loads = null;
          return body(gpu);
        }),
    );
  });
}
