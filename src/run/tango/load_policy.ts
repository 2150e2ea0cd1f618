import { UserError } from "../../base/user_error.ts";
import { weightsReceiver } from "../../engine/training/saved_state.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import { type LoadedModel, loadModelFolder } from "../../model/weights/model_folder.ts";
import type { PolicyName } from "../../rl/policy.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { frozenStorage, trainedStorage } from "../config/frozen_storage.ts";
import type { StoredCheckpoint } from "../store/stored_checkpoint.ts";

/** @throws UserError when the run has none of that name */
export function policyOf<Name extends PolicyName>(
  config: TangoConfig,
  name: Name,
): NonNullable<TangoConfig[Name]> {
  const policy = config[name];
  if (policy == null) throw new UserError(`This run has no ${name}.`);
  return policy;
}

/**
 * One policy of a run as a checkpoint has it, without references, gradients and moments. On a rehearsal GPU, which has
 * no memory, no weights are read.
 *
 * @throws UserError when its files are missing or unsound, or the checkpoint is of another model
 */
export async function loadPolicy(
  gpu: Gpu,
  config: TangoConfig,
  name: PolicyName,
  checkpoint: StoredCheckpoint,
): Promise<LoadedModel> {
  const policy = policyOf(config, name);
  const { trained } = policy;
  const loaded = await loadModelFolder(gpu, policy.model, {
    trained,
    gradients: false,
    lora: trained ? policy.lora : null,
    storage: frozenStorage(config.frozen_dtype),
    trainedStorage: trainedStorage(config.trained_dtype),
  });
  if (!trained || gpu.isRehearsal) return loaded;
  const { model } = loaded;
  try {
    const differs = () =>
      new UserError(
        `${checkpoint.path}: the ${name}'s weights are not those of the model that the configuration names.`,
      );
    if (!checkpoint.has(name)) throw differs();
    await checkpoint.read(name, (entries) => weightsReceiver(model, entries, differs));
    model.own.weightsChanged();
    return loaded;
  } catch (error) {
    model.release();
    throw error;
  }
}
