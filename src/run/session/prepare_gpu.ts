import type { Communicator } from "../../distributed/communicator.ts";
import { gatherOutcomes } from "../../distributed/outcomes.ts";
import { gatherValues } from "../../distributed/values.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import { checkMemory, type MemoryCheck } from "../memory/memory_check.ts";
import type { MemoryPlan } from "../memory/memory_plan.ts";
import { chooseVariants, type TuningMode, useSuggestedVariants } from "../tuning/tune.ts";
import { compileKernels } from "./compile_kernels.ts";

/** How a run's GPU is made ready. */
export interface GpuPreparation {
  /** All ranks of the run. */
  readonly ranks: Communicator;
  /** Whether kernels are measured before; by default what the device can do suggests them. */
  readonly tuning?: TuningMode;
  /** Told on the first rank what a reader of the terminal should know, line by line. */
  readonly tell?: (line: string) => void;
  /** Where measurements are kept. */
  readonly folder?: string;
}

/**
 * Before a run: plans its memory, chooses the variants of its kernels and compiles them. What is planned and compiled
 * is what the chosen variants take: where measuring changes the choice, the run is rehearsed once more. All ranks call
 * it.
 *
 * @returns each rank's plan
 * @throws what `checkMemory`, `tune` and `compileKernels` do
 */
export async function prepareGpu<Config>(
  gpu: Gpu,
  run: MemoryCheck<Config>,
  { ranks, tuning = "default", tell, folder }: GpuPreparation,
): Promise<readonly MemoryPlan[]> {
  const plan = () => gatherOutcomes(ranks, () => checkMemory(gpu, run));
  if (tuning === "default") useSuggestedVariants(gpu);
  let plans = await plan();
  if (tuning === "measured") {
    const rehearsed = JSON.stringify(gpu.choices.table);
    await chooseVariants(gpu, { ranks, tell, folder });
    const isOther = rehearsed !== JSON.stringify(gpu.choices.table);
    if ((await gatherValues(ranks, isOther)).includes(true)) {
      gpu.forgetRehearsals();
      plans = await plan();
    }
  }
  await compileKernels(gpu, { ranks, tell });
  return plans;
}
