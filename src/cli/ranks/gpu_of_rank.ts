import { UserError } from "../../base/user_error.ts";
import type { OpenCommunicator } from "../../distributed/open_communicator.ts";
import { gatherValues } from "../../distributed/values.ts";
import { describeGpu, listGpus } from "../../platform/gpus/gpu_list.ts";
import { describeSharing, gpusOfRanks } from "../../platform/gpus/gpus_of_ranks.ts";

/** The GPU that a rank takes. */
export interface GpuOfRank {
  /** As `--gpu-index`; undefined lets the engine choose. */
  readonly index: number | undefined;
  /** In a few words. */
  readonly words: string;
}

/**
 * Local rank n takes GPU n. Where several ranks share one, rank 0 says so. All ranks call it.
 *
 * @param index what `--gpu-index` says, which is for a process that is alone
 * @throws UserError when it was said to several ranks
 */
export async function gpuOfRank(
  { communicator, places }: OpenCommunicator,
  index: number | undefined,
): Promise<GpuOfRank> {
  const { rank, size } = communicator;
  if (size === 1) return { index, words: "its GPU" };
  if (index !== undefined) {
    throw new UserError(
      "--gpu-index is for a single process: of several ranks, the first on a machine takes GPU 0, the second GPU 1, " +
        "and so on. Leave it out.",
    );
  }
  const { localRank } = places[rank];
  const gpu = gpusOfRanks(listGpus(), localRank + 1)[localRank] ?? null;
  const gpus = await gatherValues(communicator, gpu);
  if (rank === 0) {
    const all = gpus.map((gpu, r) => ({ gpu, host: places[r].host }));
    for (const line of describeSharing(all)) console.log(line);
  }
  return { index: gpu?.index, words: gpu === null ? "its GPU" : describeGpu(gpu) };
}
