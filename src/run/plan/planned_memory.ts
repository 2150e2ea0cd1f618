import { rehearsedRank } from "../../distributed/rehearsed_rank.ts";
import { BufferTooLarge } from "../../gpu/buffer_pool.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { planTangoMemory } from "../memory/tango_memory_plan.ts";
import { inShards } from "../config/placement.ts";
import type { RankMemory } from "./format_prediction.ts";
import type { PlannedPlacement } from "./planned_run.ts";
import { ranksOf, trainingRanks } from "./prediction.ts";

/** Most ranks that are rehearsed: with more it takes minutes, and what they share is next to nothing on each. */
export const mostRehearsedRanks = 16;

/**
 * The most GPU memory that each rank takes, by the plan that a run itself makes; of more than
 * `mostRehearsedRanks` ranks what it would be on as many.
 *
 * @param gpu a rehearsal
 */
export async function predictMemory(
  gpu: Gpu,
  config: TangoConfig,
  placement: PlannedPlacement,
): Promise<RankMemory[]> {
  const { all } = ranksOf(placement);
  const size = Math.min(all, mostRehearsedRanks);
  const smaller = fewer(placement, size);
  const planned = inShards(config, trainingRanks({ config }, placement)).reduction.shards;
  const training = trainingRanks({ config }, smaller);
  const shards = Math.max(training, Math.round(planned * size / all));
  const shared = { ...config, reduction: { ...config.reduction, shards } };
  if (smaller.kind === "colocated") {
    const alike = { ...shared, placement: null };
    return [await memoryOf(gpu, alike, "all", { rank: 0, size })];
  }
  const { generator } = smaller;
  const apart = {
    ...shared,
    placement: { generator: `0-${generator - 1}`, verifier: `${generator}-${size - 1}` },
  };
  return [
    await memoryOf(gpu, apart, "generator", { rank: 0, size }),
    await memoryOf(gpu, apart, "verifier", { rank: generator, size }),
  ];
}

/** A placement with fewer ranks, shared out alike. */
function fewer(placement: PlannedPlacement, size: number): PlannedPlacement {
  if (placement.kind === "colocated") return { kind: "colocated", ranks: size };
  const share = Math.round(placement.generator * size / ranksOf(placement).all);
  const generator = Math.min(size - 1, Math.max(1, share));
  return { kind: "split", generator, verifier: size - generator };
}

async function memoryOf(
  gpu: Gpu,
  config: TangoConfig,
  ranks: string,
  place: { readonly rank: number; readonly size: number },
): Promise<RankMemory> {
  try {
    const plan = await planTangoMemory(gpu, config, rehearsedRank(place));
    return { ranks, bytes: plan.peakBytes, plan, problem: null };
  } catch (error) {
    if (!(error instanceof BufferTooLarge)) throw error;
    return { ranks, bytes: null, plan: null, problem: error.message };
  }
}
