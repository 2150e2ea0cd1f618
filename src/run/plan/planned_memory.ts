import { rehearsedRank } from "../../distributed/rehearsed_rank.ts";
import { BufferTooLarge } from "../../gpu/buffer_pool.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { planTangoMemory } from "../memory/tango_memory_plan.ts";
import type { RankMemory } from "./format_prediction.ts";
import type { PlannedPlacement } from "./planned_run.ts";

/**
 * What each rank takes of its GPU's memory at most, by the plan that a run itself makes.
 *
 * @param gpu a rehearsal
 */
export async function planMemory(
  gpu: Gpu,
  config: TangoConfig,
  placement: PlannedPlacement,
): Promise<RankMemory[]> {
  if (placement.kind === "colocated") {
    const alike = { ...config, placement: null };
    return [await memoryOf(gpu, alike, "all", { rank: 0, size: placement.ranks })];
  }
  const { generator, verifier } = placement;
  const size = generator + verifier;
  const apart = {
    ...config,
    placement: { generator: `0-${generator - 1}`, verifier: `${generator}-${size - 1}` },
  };
  return [
    await memoryOf(gpu, apart, "generator", { rank: 0, size }),
    await memoryOf(gpu, apart, "verifier", { rank: generator, size }),
  ];
}

async function memoryOf(
  gpu: Gpu,
  config: TangoConfig,
  ranks: string,
  place: { readonly rank: number; readonly size: number },
): Promise<RankMemory> {
  try {
    const { peakBytes } = await planTangoMemory(gpu, config, rehearsedRank(place));
    return { ranks, bytes: peakBytes, problem: null };
  } catch (error) {
    if (!(error instanceof BufferTooLarge)) throw error;
    return { ranks, bytes: null, problem: error.message };
  }
}
