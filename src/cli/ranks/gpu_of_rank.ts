import { UserError } from "../../base/user_error.ts";
import type { OpenCommunicator } from "../../distributed/open_communicator.ts";
import { gatherValues } from "../../distributed/values.ts";
import { describeGpu, type ListedGpu, listGpus } from "../../platform/gpus/gpu_list.ts";
import {
  type PrecisionKeys,
  type Settled,
  settlePrecision,
} from "../../run/tuning/settled_precision.ts";
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
  const gpu = gpuInPlace(places[rank].localRank);
  const gpus = await gatherValues(communicator, gpu);
  if (rank === 0) {
    const all = gpus.map((gpu, r) => ({ gpu, host: places[r].host }));
    for (const line of describeSharing(all)) console.log(line);
  }
  return { index: gpu?.index, words: gpu === null ? "its GPU" : describeGpu(gpu) };
}

/** Null where none is listed. */
function gpuInPlace(localRank: number): ListedGpu | null {
  return gpusOfRanks(listGpus(), localRank + 1)[localRank] ?? null;
}

/**
 * The same configuration with one precision for all ranks: what `auto` comes to on the GPU of each, and f32 where they
 * differ. All ranks call it; the first one says what it came to.
 *
 * @throws UserError when a GPU cannot be had
 */
export async function settleOnRanks<Config extends PrecisionKeys>(
  { communicator, places }: OpenCommunicator,
  config: Config,
  index: number | undefined,
): Promise<Settled<Config>> {
  const { rank, size } = communicator;
  const tell = rank === 0 ? (line: string) => console.log(line) : () => {};
  const own = size === 1 ? index : gpuInPlace(places[rank].localRank)?.index;
  const found = await settlePrecision(config, own, tell);
  const all = new Set(await gatherValues(communicator, found.precision));
  if (all.size === 1) return found;
  tell(`precision auto: f32 on all ranks, as it came to ${[...all].join(" and ")} on their GPUs`);
  return { ...found, precision: "f32" };
}
