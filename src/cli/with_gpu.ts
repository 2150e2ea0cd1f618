import { Gpu } from "../gpu/gpu.ts";
import type { EngineChoice } from "../gpu/gpu_options.ts";
import type { CacheDtype } from "../gpu/tensor.ts";
import { loadProgress } from "./progress/load_progress.ts";
import { openSettled, type PrecisionChoice } from "../run/tuning/settled_precision.ts";
import { useStoredTuning } from "../run/tuning/tune.ts";

/** What `--gpu` and `--gpu-index` say. */
export interface GpuChoice {
  readonly gpu?: EngineChoice;
  /** Left out, the engine chooses. */
  readonly gpuIndex?: number;
  /** f32 by default. */
  readonly precision?: PrecisionChoice;
  /** f32 by default. */
  readonly cacheDtype?: CacheDtype;
}

/** Keys of a configuration that say how a GPU is used. */
export interface GpuKeys {
  readonly gpu: EngineChoice;
  readonly precision: PrecisionChoice;
  readonly cache_dtype: CacheDtype;
}

/** What a configuration chooses. @param gpuIndex none of its keys: what `--gpu-index` says */
export function gpuOf(
  { gpu, precision, cache_dtype: cacheDtype }: GpuKeys,
  gpuIndex?: number,
): GpuChoice {
  return { gpu, precision, cacheDtype, gpuIndex };
}

/**
 * Opens the GPU for the time of `body`, with the kernels that were measured fastest on it before.
 *
 * @throws UserError when the engine finds no adapter, the GPU with that number cannot be had, or it has not what the
 *   precision takes
 */
export async function withGpu<Result>(
  { gpu: engine, gpuIndex: index, ...options }: GpuChoice,
  body: (gpu: Gpu) => Promise<Result>,
): Promise<Result> {
  const gpu = await openSettled(engine, { index, ...options }, (line) => console.error(line));
  gpu.activity.loads = loadProgress();
  useStoredTuning(gpu);
  try {
    return await body(gpu);
  } finally {
    gpu.close();
  }
}
