import { type EngineChoice, Gpu } from "../gpu/gpu.ts";

/** What `--gpu` and `--gpu-index` say. */
export interface GpuChoice {
  readonly gpu?: EngineChoice;
  /** Left out, the engine chooses. */
  readonly gpuIndex?: number;
}

/**
 * Opens the GPU for the time of `body`.
 *
 * @throws UserError when the engine finds no adapter, or the GPU with that number cannot be had
 */
export async function withGpu<Result>(
  { gpu: engine, gpuIndex: index }: GpuChoice,
  body: (gpu: Gpu) => Promise<Result>,
): Promise<Result> {
  const gpu = await Gpu.open(engine, { index });
  try {
    return await body(gpu);
  } finally {
    gpu.close();
  }
}
