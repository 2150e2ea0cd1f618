import type { Gpu } from "../../gpu/gpu.ts";
import { modelFiles } from "../../model/weights/model_files.ts";
import type { LoadedModel } from "../../model/weights/model_folder.ts";
import type { PolicyName } from "../../rl/policy.ts";
import { loadTangoConfig } from "../config/load_config.ts";
import { placeOfCheckpoint } from "../store/checkpoint.ts";
import { RunFolder } from "../store/run_folder.ts";
import { StoredCheckpoint } from "../store/stored_checkpoint.ts";
import { writeFiles } from "../store/weights_folder.ts";
import { loadPolicy } from "./load_policy.ts";

/** A policy of a run as one of its checkpoints has it. */
export interface StoredPolicy {
  /** The run's folder. */
  readonly run: string;
  readonly policy: PolicyName;
  /** The step of the checkpoint; null: the newest. */
  readonly checkpoint: number | null;
}

/**
 * Loads a policy as a checkpoint has it, with the weights of an adapter's base in float32, to which it may be added.
 *
 * @throws UserError when the run has no such policy or checkpoint, or its files are missing or unsound
 */
export async function loadStoredPolicy(
  gpu: Gpu,
  { run, policy, checkpoint }: StoredPolicy,
): Promise<LoadedModel> {
  const folder = RunFolder.open(run);
  const config = loadTangoConfig(folder.configuration);
  const place = placeOfCheckpoint(folder.checkpoints, checkpoint);
  const whole = { ...config, frozen_dtype: "float32" } as const;
  return await loadPolicy(gpu, whole, policy, new StoredCheckpoint(place.path));
}

/**
 * Writes a policy as a checkpoint has it, as its run would have left it then: the adapter alone where it trains one, else
 * the whole model in float32.
 *
 * @param output a folder, which is replaced
 * @throws UserError as `loadStoredPolicy`, or when the disk does not take it
 */
export async function writeStoredPolicy(
  gpu: Gpu,
  stored: StoredPolicy,
  output: string,
): Promise<void> {
  const loaded = await loadStoredPolicy(gpu, stored);
  try {
    await writeFiles(output, modelFiles(loaded), "make room and run the command again");
  } finally {
    loaded.model.release();
  }
}
