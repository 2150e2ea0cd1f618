import type { Gpu } from "../../gpu/gpu.ts";
import { type LoadedModel, loadModelFolder } from "../../model/weights/model_folder.ts";
import { frozenStorage } from "../config/frozen_storage.ts";
import type { FrozenDtype } from "../config/shared_schema.ts";
import { type MemoryPlan, rehearsePhases, residentUses } from "./memory_plan.ts";

/**
 * GPU memory of sampling from a saved model.
 *
 * @param options its folder or file, and how its weights are stored
 * @param sample on a GPU without memory, which draws token 0 and no other; 0 is the model's stop token there
 * @throws UserError when one of its buffers is larger than the device binds
 */
export async function planSamplingMemory(
  gpu: Gpu,
  { model: path, frozenDtype }: { readonly model: string; readonly frozenDtype?: FrozenDtype },
  sample: (loaded: LoadedModel, rehearsal: Gpu) => Promise<unknown>,
): Promise<MemoryPlan> {
  const rehearsal = gpu.rehearsal();
  const loaded = await loadModelFolder(rehearsal, path, {
    trained: false,
    storage: frozenStorage(frozenDtype),
  });
  try {
    const { model } = loaded;
    return await rehearsePhases(rehearsal, residentUses([{ name: "model", model }]), [
      { what: "sampling", run: () => sample({ ...loaded, stopTokens: [0] }, rehearsal) },
    ]);
  } finally {
    loaded.model.release();
  }
}
