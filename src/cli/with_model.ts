import type { Gpu } from "../gpu/gpu.ts";
import { type LoadedModel, loadModelFolder } from "../model/weights/model_folder.ts";
import { frozenStorage } from "../run/config/frozen_storage.ts";
import type { FrozenDtype } from "../run/config/shared_schema.ts";
import { asOptions, checkMemory } from "../run/memory/memory_check.ts";
import { planSamplingMemory } from "../run/memory/sampling_memory_plan.ts";
import type { Shrink } from "../run/memory/shrink.ts";
import { type GpuChoice, withGpu } from "./with_gpu.ts";

/** What says which model is sampled from, and where. */
export interface ModelChoice extends GpuChoice {
  readonly model: string;
  readonly memoryLimit?: number;
  readonly frozenDtype?: FrozenDtype;
}

/**
 * Opens a GPU and a model to be sampled from, for the time of `body`.
 *
 * @param rehearse samples as `body` will, with options that may be smaller: the memory for it is planned first
 * @param shrinks what can be made smaller
 * @throws UserError when there is no such GPU or model, or not enough memory
 */
export async function withModel<Options extends ModelChoice>(
  options: Options,
  rehearse: (loaded: LoadedModel, options: Options, gpu: Gpu) => Promise<unknown>,
  shrinks: readonly Shrink<Options>[],
  body: (loaded: LoadedModel, gpu: Gpu) => Promise<void>,
): Promise<void> {
  await withGpu(options, async (gpu) => {
    await checkMemory(gpu, {
      config: options,
      limit: options.memoryLimit ?? null,
      plan: (changed) =>
        planSamplingMemory(
          gpu,
          changed,
          async (loaded, rehearsal) => void await rehearse(loaded, changed, rehearsal),
        ),
      shrinks,
      spelling: asOptions,
    });
    const loaded = await loadModelFolder(gpu, options.model, {
      trained: false,
      storage: frozenStorage(options.frozenDtype),
    });
    try {
      await body(loaded, gpu);
    } finally {
      loaded.model.release();
    }
  });
}
