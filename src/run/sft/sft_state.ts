import { z } from "zod";
import type { Placed } from "../../distributed/placed.ts";
import type { Trainer } from "../../engine/training/trainer.ts";
import type { PolicyName } from "../../rl/policy.ts";
import type { SkippedInARow } from "../health/policy_health.ts";
import type { Best } from "../store/best.ts";
import { type RunDevice, runDeviceSchema } from "../store/run_device.ts";
import { saveCheckpoint } from "../store/checkpoint.ts";
import { writtenByFirst } from "../store/shared_files.ts";
import { bestSchema, optimizerStepsSchema, skippedInARowSchema } from "../store/stored_state.ts";
import { countSchema, StoredCheckpoint } from "../store/stored_checkpoint.ts";
import { optimizerStepsOf, restoreTrained, trainedSets } from "../store/trained_models.ts";

/** Where a fine-tuning stands, besides its weights and moments. */
export interface SftState {
  /** Updates done. */
  readonly step: number;
  /** Records of the files that were gone through. */
  readonly position: number;
  /** The best evaluation so far; null before the first. */
  readonly best: Best | null;
  /** True when the accuracy that ends it was reached. */
  readonly isReached: boolean;
  /** Updates skipped in a row. */
  readonly skippedInARow: SkippedInARow;
  /** What it computes on; null where a checkpoint of an earlier version does not say. */
  readonly device: RunDevice | null;
}

/** The state before the first update. */
export const initialSftState: SftState = {
  step: 0,
  position: 0,
  best: null,
  isReached: false,
  skippedInARow: {},
  device: null,
};

const storedStateSchema = z.object({
  step: countSchema,
  position: countSchema,
  best: bestSchema.nullable(),
  isReached: z.boolean(),
  optimizerSteps: optimizerStepsSchema,
  skippedInARow: skippedInARowSchema,
  device: runDeviceSchema.nullable().default(null),
});

type StoredState = z.output<typeof storedStateSchema>;

/**
 * Writes a checkpoint and removes those it supersedes. All ranks call it.
 *
 * @returns its folder
 */
export async function saveSftState(
  folder: string,
  policy: PolicyName,
  trainer: Placed<Trainer>,
  state: SftState,
  keep: number,
): Promise<string> {
  const models = { [policy]: trainer };
  const optimizerSteps = await optimizerStepsOf(models);
  const sets = await trainedSets(models);
  const stored: StoredState = {
    step: state.step,
    position: state.position,
    best: state.best && { ...state.best },
    isReached: state.isReached,
    optimizerSteps,
    skippedInARow: { ...state.skippedInARow },
    device: state.device,
  };
  const write = () => saveCheckpoint(folder, { step: state.step, sets, state: stored }, keep);
  return await writtenByFirst(trainer.all, [sets], write);
}

/**
 * Puts the model back to where a checkpoint was taken.
 *
 * @throws UserError when it is damaged or was made with another model than the configuration names; the
 *   model may then not be used any more
 */
export async function loadSftState(
  path: string,
  policy: PolicyName,
  trainer: Placed<Trainer>,
): Promise<SftState> {
  const checkpoint = new StoredCheckpoint(path);
  const { optimizerSteps, ...state } = checkpoint.state(storedStateSchema);
  const key = () => "initial_model or lora";
  await restoreTrained(checkpoint, optimizerSteps, { [policy]: trainer }, key);
  return state;
}
