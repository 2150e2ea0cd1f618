/**
 * A process of its own that plans a run's GPU memory, since waiting for a GPU would hold up the server. It is given a
 * `PlanRequest` as its only argument and prints a `PlannedMemory`.
 */

import { UserError } from "../../base/user_error.ts";
import { listGpus } from "../../platform/gpus/gpu_list.ts";
import { whyNotOnGpu } from "../../platform/gpus/on_gpu.ts";
import { deviceMemory } from "../../platform/gpus/device_memory.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import { loadSftConfig, loadTangoConfig } from "../../run/config/load_config.ts";
import type { TangoConfig } from "../../run/config/config_schema.ts";
import { withSftShards, withShards } from "../../run/config/placement.ts";
import { planSftMemory } from "../../run/memory/sft_memory_plan.ts";
import { planTangoMemory } from "../../run/memory/tango_memory_plan.ts";
import { openSettled } from "../../run/tuning/settled_precision.ts";
import type { PlannedMemory, PlanRequest } from "./memory_plan.ts";

async function plan(
  { kind, file, set, steps, ranks, gpuIndex: index }: PlanRequest,
): Promise<PlannedMemory> {
  const overrides = { set, steps };
  const rank = { rank: 0, size: ranks };
  if (kind === "sft") {
    const config = withSftShards(loadSftConfig(file, overrides), ranks);
    const gpu = await openGpu(config, index);
    return {
      ...await planSftMemory(gpu, config, rank),
      ...{ limitBytes: limitOf(gpu, config), gpus: choosableGpus() },
    };
  }
  const config = withShards(loadTangoConfig(file, overrides), ranks);
  const gpu = await openGpu(config, index);
  return {
    ...await planTangoMemory(gpu, config, rank),
    ...{ limitBytes: limitOf(gpu, config), gpus: choosableGpus() },
  };
}

function openGpu(
  { gpu, precision, cache_dtype: cacheDtype }: Pick<
    TangoConfig,
    "gpu" | "precision" | "cache_dtype"
  >,
  index?: number,
): Promise<Gpu> {
  return openSettled(gpu, { index, precision, cacheDtype }, () => {});
}

/** Those that ranks would be spread over. */
function choosableGpus(): number[] {
  const gpus = listGpus();
  const alike = gpus.filter(({ type }) => type === gpus[0].type);
  return alike.filter((gpu) => whyNotOnGpu(gpu) === null).map(({ index }) => index);
}

function limitOf(gpu: Gpu, config: { readonly memory_limit_gb: number | null }): number | null {
  const { memory_limit_gb: limit } = config;
  return limit === null ? deviceMemory(gpu.info)?.bytes ?? null : limit * 1e9;
}

try {
  console.log(JSON.stringify(await plan(JSON.parse(Deno.args[0]))));
  Deno.exit(0);
} catch (error) {
  console.error(error instanceof UserError ? error.message : error);
  Deno.exit(error instanceof UserError ? 2 : 1);
}
