import type { Gpu } from "../../gpu/gpu.ts";
import { type LoadedModel, loadModelFolder } from "../../model/weights/model_folder.ts";
import { type MemoryPlan, rehearsePhases, residentUses } from "./memory_plan.ts";

/**
 * What sampling from a saved model takes of the GPU's memory.
 *
 * @param path its folder or file
 * @param sample on a GPU without memory, which draws token 0 and no other; 0 is the model's stop token there
 * @throws UserError when one of its buffers is larger than the device binds
 */
export async function planSamplingMemory(
  gpu: Gpu,
  path: string,
  sample: (loaded: LoadedModel) => Promise<unknown>,
): Promise<MemoryPlan> {
  const rehearsal = gpu.rehearsal();
  const loaded = await loadModelFolder(rehearsal, path, { trained: false });
  try {
    const { model } = loaded;
    return await rehearsePhases(rehearsal, residentUses([{ name: "model", model }]), [
      { what: "sampling", run: () => sample({ ...loaded, stopTokens: [0] }) },
    ]);
  } finally {
    loaded.model.release();
  }
}
