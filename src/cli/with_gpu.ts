import { type EngineChoice, Gpu } from "../gpu/gpu.ts";

/**
 * Opens the GPU for the time of `body`.
 *
 * @throws UserError when the engine finds no adapter
 */
export async function withGpu<Result>(
  engine: EngineChoice,
  body: (gpu: Gpu) => Promise<Result>,
): Promise<Result> {
  const gpu = await Gpu.open(engine);
  try {
    return await body(gpu);
  } finally {
    gpu.close();
  }
}
