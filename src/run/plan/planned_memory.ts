import type { Rank } from "../../distributed/rehearsed_rank.ts";
import { fullestRank } from "../../engine/training/shard_sums.ts";
import { BufferTooLarge } from "../../gpu/buffer_pool.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { planTangoMemory } from "../memory/tango_memory_plan.ts";
import type { RankMemory } from "./format_prediction.ts";
import type { PlannedPlacement } from "./planned_run.ts";

/**
 * What each rank takes of its GPU's memory at most, by the plan that a run itself makes: of ranks that hold the
 * same, one that takes the most.
 *
 * @param gpu a rehearsal
 */
export async function planMemory(
  gpu: Gpu,
  config: TangoConfig,
  placement: PlannedPlacement,
): Promise<RankMemory[]> {
  const fullest = (ranks: number) => fullestRank(config.reduction.shards, ranks);
  if (placement.kind === "colocated") {
    const { ranks: size } = placement;
    const alike = { ...config, placement: null };
    return [await memoryOf(gpu, alike, "all", { rank: fullest(size), size })];
  }
  const { generator, verifier } = placement;
  const size = generator + verifier;
  const apart = {
    ...config,
    placement: { generator: `0-${generator - 1}`, verifier: `${generator}-${size - 1}` },
  };
  return [
    await memoryOf(gpu, apart, "generator", { rank: fullest(generator), size }),
    await memoryOf(gpu, apart, "verifier", { rank: generator + fullest(verifier), size }),
  ];
}

async function memoryOf(
  gpu: Gpu,
  config: TangoConfig,
  ranks: string,
  rank: Rank,
): Promise<RankMemory> {
  try {
    const { peakBytes } = await planTangoMemory(gpu, config, rank);
    return { ranks, bytes: peakBytes, problem: null };
  } catch (error) {
    if (!(error instanceof BufferTooLarge)) throw error;
    return { ranks, bytes: null, problem: error.message };
  }
}
