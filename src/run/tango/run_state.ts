import { z } from "zod";
import type { ClassCounts } from "../../rl/advantage/class_reweighting.ts";
import { initialPosition, type TangoPosition } from "../../rl/schedule/tango_schedule.ts";
import type { SkippedInARow } from "../health/policy_health.ts";
import type { Best } from "../store/best.ts";
import { type RunDevice, runDeviceSchema } from "../store/run_device.ts";
import { saveCheckpoint } from "../store/checkpoint.ts";
import { bestSchema, optimizerStepsSchema, skippedInARowSchema } from "../store/stored_state.ts";
import { countSchema, StoredCheckpoint } from "../store/stored_checkpoint.ts";
import { madeOf } from "../../distributed/placed.ts";
import { type Policies, trainerOf } from "./policies.ts";
import { writtenByFirst } from "../store/shared_files.ts";
import {
  optimizerStepsOf,
  restoreTrained,
  type TrainedModels,
  trainedSets,
} from "../store/trained_models.ts";

/** Everything of a run that is not an array: where it stands. Random numbers need no state: their keys do. */
export interface RunState {
  position: TangoPosition;
  /** Moving averages of the verifier's class counts; null before its first step. */
  classCounts: ClassCounts | null;
  /** Records of the files that were gone through. */
  problemPosition: number;
  /** The best evaluation so far; null before the first. */
  best: Best | null;
  /** Updates skipped in a row. */
  skippedInARow: SkippedInARow;
  /** What it computes on; null where a checkpoint of an earlier version does not say. */
  device: RunDevice | null;
}

/** The state before the first step. */
export function initialState(): RunState {
  return {
    position: initialPosition(),
    classCounts: null,
    problemPosition: 0,
    best: null,
    skippedInARow: {},
    device: null,
  };
}

const storedStateSchema = z.object({
  position: z.object({
    globalSteps: countSchema,
    generatorSteps: countSchema,
    verifierSteps: countSchema,
    cycleSteps: countSchema,
  }),
  classCounts: z.object({ positive: z.number(), negative: z.number() }).nullable(),
  problemPosition: countSchema,
  best: bestSchema.nullable(),
  optimizerSteps: optimizerStepsSchema,
  skippedInARow: skippedInARowSchema,
  device: runDeviceSchema.nullable().default(null),
});

type StoredState = z.output<typeof storedStateSchema>;

function trainedModels({ generator, verifier }: Policies): TrainedModels {
  const models: Record<string, TrainedModels[string]> = {};
  for (const [name, policy] of [["generator", generator], ["verifier", verifier]] as const) {
    if (policy?.isTrained) models[name] = madeOf(policy.engine, trainerOf);
  }
  return models;
}

/**
 * Writes a checkpoint: weights and moments of the trained policies, and the state. All ranks call it.
 *
 * @returns its folder
 */
export async function saveRunState(
  folder: string,
  policies: Policies,
  state: RunState,
  keep: number,
): Promise<string> {
  const models = trainedModels(policies);
  const optimizerSteps = await optimizerStepsOf(models);
  const sets = await trainedSets(models);
  const stored: StoredState = {
    position: { ...state.position },
    classCounts: state.classCounts && { ...state.classCounts },
    problemPosition: state.problemPosition,
    best: state.best && { ...state.best },
    optimizerSteps,
    skippedInARow: { ...state.skippedInARow },
    device: state.device,
  };
  const step = state.position.globalSteps;
  const { all } = policies.generator.engine;
  const write = () => saveCheckpoint(folder, { step, sets, state: stored }, keep);
  return await writtenByFirst(all, [sets], write);
}

/**
 * Continues the policies that this rank holds from a checkpoint. When it fails, they may not be used any more.
 *
 * @throws UserError when it is damaged or was made with other models than the configuration names
 */
export async function loadRunState(path: string, policies: Policies): Promise<RunState> {
  const checkpoint = new StoredCheckpoint(path);
  const { optimizerSteps, ...state } = checkpoint.state(storedStateSchema);
  const key = (name: string) => `${name}.model or ${name}.lora`;
  await restoreTrained(checkpoint, optimizerSteps, trainedModels(policies), key);
  return state;
}
