import type { ClassCounts } from "../rl/class_reweighting.ts";
import type { Model } from "../model/model.ts";
import type { Policy } from "../rl/policy.ts";
import { initialPosition, type TangoPosition } from "../rl/tango_schedule.ts";
import { UserError } from "../user_error.ts";
import { type Checkpoint, loadCheckpoint, type NamedArrays, saveCheckpoint } from "./checkpoint.ts";
import type { Policies } from "./policies.ts";

/** Everything of a run that is not an array: where it stands. Random numbers need no state: their keys do. */
export interface RunState {
  position: TangoPosition;
  /** Moving averages of the verifier's class counts; null before its first step. */
  classCounts: ClassCounts | null;
}

/** The state before the first step. */
export function initialState(): RunState {
  return { position: initialPosition(), classCounts: null };
}

type StoredState = {
  readonly position: { readonly [key: string]: number };
  readonly classCounts: { readonly [key: string]: number } | null;
  /** Updates of each optimizer. */
  readonly optimizerSteps: { readonly [policy: string]: number };
};

function trainedPolicies({ generator, verifier }: Policies): [string, Policy<unknown>][] {
  const all: [string, Policy<unknown> | null][] = [["generator", generator], [
    "verifier",
    verifier,
  ]];
  return all.filter((entry): entry is [string, Policy<unknown>] => entry[1]?.optimizer != null);
}

const trainedWeights = (model: Model) => model.trainable?.weights ?? [];

const keyed = (name: string, segments: readonly Float32Array[]) =>
  Object.fromEntries(
    segments.map((data, i) => [`${name}.${i}`, data as Float32Array<ArrayBuffer>]),
  );

/** Writes a checkpoint: weights and moments of the trained policies, and the state. */
export async function saveRunState(
  folder: string,
  policies: Policies,
  state: RunState,
  keep: number,
): Promise<string> {
  const arrays: Record<string, NamedArrays> = {};
  const optimizerSteps: Record<string, number> = {};
  for (const [name, { model, optimizer }] of trainedPolicies(policies)) {
    if (!optimizer) continue;
    const weights = await model.gpu.readAll(trainedWeights(model)) as Float32Array[];
    const { firstMoments, secondMoments } = await optimizer.read();
    arrays[name] = {
      ...keyed("weights", weights),
      ...keyed("first_moments", firstMoments),
      ...keyed("second_moments", secondMoments),
    };
    optimizerSteps[name] = optimizer.step;
  }
  const checkpoint: Checkpoint<StoredState> = {
    step: state.position.globalSteps,
    arrays,
    state: {
      position: { ...state.position },
      classCounts: state.classCounts && { ...state.classCounts },
      optimizerSteps,
    },
  };
  return saveCheckpoint(folder, checkpoint, keep);
}

/**
 * Continues the policies from a checkpoint.
 *
 * @throws UserError when it was made with other models than the configuration names
 */
export function loadRunState(path: string, policies: Policies): RunState {
  const { arrays, state } = loadCheckpoint<StoredState>(path);
  for (const [name, { model, optimizer }] of trainedPolicies(policies)) {
    const stored = arrays[name];
    const segments = (kind: string) =>
      trainedWeights(model).map((tensor, i) => {
        const data = stored?.[`${kind}.${i}`];
        if (!(data instanceof Float32Array) || data.length !== tensor.size) {
          throw new UserError(
            `${path}: the ${name}'s ${kind} do not have the size of the model the configuration ` +
              `names; was ${name}.model or ${name}.lora changed since the run began?`,
          );
        }
        return data;
      });
    segments("weights").forEach((data, i) => model.gpu.write(trainedWeights(model)[i], data));
    optimizer?.load(
      state.optimizerSteps[name],
      segments("first_moments"),
      segments("second_moments"),
    );
  }
  return {
    position: state.position as unknown as TangoPosition,
    classCounts: state.classCounts as unknown as ClassCounts | null,
  };
}
