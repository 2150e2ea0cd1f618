import { UserError } from "../../base/user_error.ts";
import { savedState, stateReceiver, type TrainedModel } from "../../engine/training/saved_state.ts";
import type { TensorStream } from "../../model/weights/safetensors.ts";
import type { Checkpoint } from "./checkpoint.ts";
import type { StoredCheckpoint } from "./stored_checkpoint.ts";

/** Models in training by the names they have in a checkpoint. */
export type TrainedModels = Readonly<Record<string, TrainedModel>>;

/** Updates made by each optimizer. */
export type OptimizerSteps = { readonly [name: string]: number };

/** The models' state for a checkpoint; see `savedState`. */
export function trainedTensors(
  models: TrainedModels,
): { tensors: Checkpoint["tensors"]; optimizerSteps: OptimizerSteps } {
  const tensors: Record<string, Record<string, TensorStream>> = {};
  const optimizerSteps: Record<string, number> = {};
  for (const [name, trained] of Object.entries(models)) {
    tensors[name] = savedState(trained);
    optimizerSteps[name] = trained.optimizer.step;
  }
  return { tensors, optimizerSteps };
}

/**
 * Puts the models back to where `trainedTensors` found them. When it fails, nothing may be done with them
 * any more: their weights may be those of a damaged file.
 *
 * @param key the configuration key of a model's path
 * @throws UserError when the checkpoint was made with other models, or its content is not what was written
 */
export async function restoreTrained(
  checkpoint: StoredCheckpoint,
  optimizerSteps: OptimizerSteps,
  models: TrainedModels,
  key: (name: string) => string,
): Promise<void> {
  for (const [name, trained] of Object.entries(models)) {
    const differs = (kind: string) =>
      new UserError(
        `${checkpoint.path}: the ${name}'s ${kind} do not have the size of the model the configuration ` +
          `names; was ${key(name)} changed since the run began?`,
      );
    if (!checkpoint.has(name) || !(name in optimizerSteps)) throw differs("weights");
    await checkpoint.read(name, (entries) => stateReceiver(trained, entries, differs));
    trained.optimizer.step = optimizerSteps[name];
    trained.model.trainable?.weightsChanged();
  }
}
