import { type EngineChoice, Gpu } from "../gpu/gpu.ts";
import { useStoredTuning } from "../run/tuning/tune.ts";

/** What `--gpu` and `--gpu-index` say. */
export interface GpuChoice {
  readonly gpu?: EngineChoice;
  /** Left out, the engine chooses. */
  readonly gpuIndex?: number;
}

/**
 * Opens the GPU for the time of `body`, with the kernels that were measured fastest on it before.
 *
 * @throws UserError when the engine finds no adapter, or the GPU with that number cannot be had
 */
export async function withGpu<Result>(
  { gpu: engine, gpuIndex: index }: GpuChoice,
  body: (gpu: Gpu) => Promise<Result>,
): Promise<Result> {
  const gpu = await Gpu.open(engine, { index });
  useStoredTuning(gpu);
  try {
    return await body(gpu);
  } finally {
    gpu.close();
  }
}
