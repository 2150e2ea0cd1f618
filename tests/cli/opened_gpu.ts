import { Gpu } from "../../src/gpu/gpu.ts";

/** Runs `body` and hands over every GPU that is opened in it. */
export async function watchingGpus<Result>(
  onOpen: (gpu: Gpu) => void,
  body: () => Promise<Result>,
): Promise<Result> {
  const open = Gpu.open;
  Gpu.open = async (...options) => {
    const gpu = await open.call(Gpu, ...options);
    onOpen(gpu);
    return gpu;
  };
  try {
    return await body();
  } finally {
    Gpu.open = open;
  }
}
