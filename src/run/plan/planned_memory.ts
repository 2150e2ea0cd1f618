import { UserError } from "../../base/user_error.ts";
import { BufferTooLarge } from "../../gpu/buffer_pool.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { planTangoMemory } from "../memory/tango_memory_plan.ts";
import type { RankMemory } from "./format_prediction.ts";
import type { PlannedPlacement } from "./planned_run.ts";

/** What each rank takes of its GPU's memory at most, by the plan that a run itself makes. */
export async function planMemory(
  gpu: Gpu,
  config: TangoConfig,
  placement: PlannedPlacement,
): Promise<RankMemory[]> {
  if (placement.kind === "split") return [];
  try {
    const { peakBytes } = await planTangoMemory(gpu, config);
    return [{ ranks: "all", bytes: peakBytes, problem: null }];
  } catch (error) {
    if (!(error instanceof BufferTooLarge || error instanceof UserError)) throw error;
    return [{ ranks: "all", bytes: null, problem: error.message }];
  }
}
