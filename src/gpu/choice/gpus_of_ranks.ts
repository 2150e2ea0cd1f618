import { describeGpu, type ListedGpu } from "./gpu_list.ts";

/**
 * Which GPU each process takes when several share this machine: local rank n takes GPU n, and they begin anew when there
 * are no more. Only GPUs of the first one's kind are taken: a desktop's integrated one would hold up its cards.
 *
 * @param gpus as `listGpus` gives them
 * @param ranks number of processes on this machine
 * @returns a GPU for each of them; none where no GPU is listed, so that the engine has to choose
 */
export function gpusOfRanks(gpus: readonly ListedGpu[], ranks: number): ListedGpu[] {
  const alike = gpus.filter(({ type }) => type === gpus[0].type);
  if (alike.length === 0) return [];
  return Array.from({ length: ranks }, (_, rank) => alike[rank % alike.length]);
}

/** A line for each GPU that several processes share. */
export function describeSharing(gpusByRank: readonly ListedGpu[]): string[] {
  return [...new Set(gpusByRank)].flatMap((gpu) => {
    const ranks = gpusByRank.flatMap((other, rank) => other === gpu ? [rank] : []);
    if (ranks.length === 1) return [];
    return [
      `Ranks ${ranks.slice(0, -1).join(", ")} and ${ranks.at(-1)} share ${describeGpu(gpu)}: ` +
      `they take turns on it, and its memory has to do for all of them.`,
    ];
  });
}
