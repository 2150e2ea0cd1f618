/** Which GPUs a run takes beside those that go on, by their memory plans. */

import type { RunPlan } from "../runs/launch.ts";

/** A run that goes on. */
export interface PlacedRun {
  readonly ranks: number;
  /** The GPU of each of its ranks; empty where nobody knows, so that they may be on any. */
  readonly gpus: readonly number[];
  /** That each rank takes of its GPU at most; null where nobody knows. */
  readonly bytes: number | null;
}

/** A run that waits. */
export interface Unplaced {
  readonly ranks: number;
  /** The GPU that was asked for; null: any with room. */
  readonly gpuIndex: number | null;
  /** Null where it cannot be planned. */
  readonly plan: RunPlan | null;
}

/**
 * Finds room for a run. On a GPU where no other is it is given room in any case, and says itself if it does not fit.
 *
 * @returns the GPU of each rank; empty where the engine has to choose; null when the run has to wait
 */
export function placeRun(run: Unplaced, others: readonly PlacedRun[]): number[] | null {
  const { ranks, plan } = run;
  if (plan === null) return others.length === 0 ? [] : null;
  return choicesOf(run, plan.gpus).find((gpus) => fits({ ranks, gpus }, plan, others)) ?? null;
}

function choicesOf({ ranks, gpuIndex }: Unplaced, gpus: readonly number[]): number[][] {
  if (gpuIndex !== null) return [[gpuIndex]];
  if (gpus.length === 0) return [[]];
  if (ranks === 1) return gpus.map((gpu) => [gpu]);
  return [Array.from({ length: ranks }, (_, rank) => gpus[rank % gpus.length])];
}

function fits(
  run: Pick<PlacedRun, "ranks" | "gpus">,
  { bytes, limitBytes }: RunPlan,
  others: readonly PlacedRun[],
): boolean {
  const places = run.gpus.length === 0 ? [null] : new Set(run.gpus);
  return [...places].every((gpu) => {
    const beside = others.filter((other) => ranksOn(other, gpu) > 0);
    if (beside.length === 0) return true;
    const taken = beside.map((other) => ranksOn(other, gpu) * (other.bytes ?? Infinity));
    const all = taken.reduce((sum, some) => sum + some, ranksOn(run, gpu) * bytes);
    return limitBytes !== null && all <= limitBytes;
  });
}

/** Ranks that are, or may be, on a GPU; on any, where it is not known which that is. */
function ranksOn({ ranks, gpus }: Pick<PlacedRun, "ranks" | "gpus">, gpu: number | null): number {
  if (gpu === null || gpus.length === 0) return ranks;
  return gpus.filter((one) => one === gpu).length;
}
