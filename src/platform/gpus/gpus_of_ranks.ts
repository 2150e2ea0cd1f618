import { describeGpu, isSameGpu, type ListedGpu } from "./gpu_list.ts";

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

/** The GPU that a rank takes, if one is known, and where. */
export interface RankOnGpu {
  readonly gpu: ListedGpu | null;
  /** Left out where all are on this machine. */
  readonly host?: string;
}

/** A line for each GPU that several ranks share. */
export function describeSharing(ranks: readonly RankOnGpu[]): string[] {
  const groups: number[][] = [];
  ranks.forEach((one, rank) => {
    const group = groups.find(([first]) => isShared(ranks[first], one));
    if (group) group.push(rank);
    else groups.push([rank]);
  });
  return groups.flatMap((group) => {
    const { gpu, host } = ranks[group[0]];
    if (gpu === null || group.length === 1) return [];
    const names = `${group.slice(0, -1).join(", ")} and ${group.at(-1)}`;
    return [
      `Ranks ${names} share ${describeGpu(gpu)}${
        host === undefined ? "" : ` on ${host}`
      }: they take turns on it, and ` +
      `its memory has to do for all of them.`,
    ];
  });
}

const isShared = (a: RankOnGpu, b: RankOnGpu) =>
  a.host === b.host && a.gpu !== null && b.gpu !== null && isSameGpu(a.gpu, b.gpu);
