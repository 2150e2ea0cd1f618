import type { RankTimeline } from "../../runs/read_timeline.ts";

/** How long each thing took, all ranks together, the longest first. */
export function spanTotals(
  ranks: readonly RankTimeline[],
): { name: string; seconds: number; share: number }[] {
  const seconds = new Map<string, number>();
  for (const { name, begin, end } of ranks.flatMap(({ spans }) => spans)) {
    seconds.set(name, (seconds.get(name) ?? 0) + end - begin);
  }
  const all = [...seconds.values()].reduce((sum, value) => sum + value, 0);
  return [...seconds.entries()]
    .map(([name, value]) => ({ name, seconds: value, share: all === 0 ? 0 : value / all }))
    .sort((a, b) => b.seconds - a.seconds);
}
