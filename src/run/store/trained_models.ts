import { UserError } from "../../base/user_error.ts";
import {
  type ModelInTraining,
  savedState,
  stateReceiver,
} from "../../engine/training/saved_state.ts";
import type { Placed } from "../../distributed/placed.ts";
import { onHolders } from "../../distributed/shared_work.ts";
import type { FileContent } from "../../model/weights/file_content.ts";
import { encodeSafetensors } from "../../model/weights/safetensors.ts";
import type { Checkpoint } from "./checkpoint.ts";
import { sharedFiles } from "./shared_files.ts";
import type { StoredCheckpoint } from "./stored_checkpoint.ts";

/** Models in training by the names they have in a checkpoint, each on the ranks that hold it. */
export type TrainedModels = Readonly<Record<string, Placed<ModelInTraining>>>;

/** Updates made by each optimizer. */
export type OptimizerSteps = { readonly [name: string]: number };

/** Updates made by each optimizer, on all ranks. */
export async function optimizerStepsOf(models: TrainedModels): Promise<OptimizerSteps> {
  const steps: Record<string, number> = {};
  for (const [name, placed] of Object.entries(models)) {
    steps[name] = await onHolders(placed, ({ optimizer }) => Promise.resolve(optimizer.step));
  }
  return steps;
}

/** The models' state for a checkpoint, see `savedState` and `sharedFiles`. */
export async function trainedSets(models: TrainedModels): Promise<Checkpoint["sets"]> {
  const sets: Record<string, FileContent> = {};
  for (const [name, placed] of Object.entries(models)) {
    Object.assign(
      sets,
      await sharedFiles(placed, (model) => ({ [name]: encodeSafetensors(savedState(model)) })),
    );
  }
  return sets;
}

/**
 * Puts the models that this rank holds back to where `trainedSets` found them. When it fails, nothing may be done with them
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
  for (const [name, { here: trained }] of Object.entries(models)) {
    if (trained === null) continue;
    const differs = (kind: string) =>
      new UserError(
        `${checkpoint.path}: the ${name}'s ${kind} do not have the size of the model the configuration ` +
          `names; was ${key(name)} changed since the run began?`,
      );
    if (!checkpoint.has(name) || !(name in optimizerSteps)) throw differs("weights");
    await checkpoint.read(name, (entries) => stateReceiver(trained, entries, differs));
    trained.optimizer.step = optimizerSteps[name];
    trained.optimizer.weightsTaken();
  }
}
