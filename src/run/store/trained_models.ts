import type { Model } from "../../model/decoder/model.ts";
import type { Optimizer } from "../../model/decoder/optimizer.ts";
import { UserError } from "../../base/user_error.ts";
import type { NamedArrays } from "./checkpoint.ts";

/** Models in training with their optimizers, by the names they have in a checkpoint. */
export type TrainedModels = Readonly<
  Record<string, { readonly model: Model; readonly optimizer: Optimizer }>
>;

/** Updates made by each optimizer. */
export type OptimizerSteps = { readonly [name: string]: number };

const weightsOf = (model: Model) => model.trainable?.weights ?? [];

const keyed = (name: string, segments: readonly Float32Array[]) =>
  Object.fromEntries(
    segments.map((data, i) => [`${name}.${i}`, data as Float32Array<ArrayBuffer>]),
  );

/** Reads the trained weights and the moments, for a checkpoint. */
export async function readTrained(
  models: TrainedModels,
): Promise<{ arrays: Record<string, NamedArrays>; optimizerSteps: OptimizerSteps }> {
  const arrays: Record<string, NamedArrays> = {};
  const optimizerSteps: Record<string, number> = {};
  for (const [name, { model, optimizer }] of Object.entries(models)) {
    const weights = await model.gpu.readAll(weightsOf(model)) as Float32Array[];
    const { firstMoments, secondMoments } = await optimizer.read();
    arrays[name] = {
      ...keyed("weights", weights),
      ...keyed("first_moments", firstMoments),
      ...keyed("second_moments", secondMoments),
    };
    optimizerSteps[name] = optimizer.step;
  }
  return { arrays, optimizerSteps };
}

/**
 * Puts the models back to where `readTrained` found them.
 *
 * @param path the checkpoint, for messages
 * @param key the configuration key of a model's path
 * @throws UserError when it was made with other models
 */
export function restoreTrained(
  path: string,
  stored: Readonly<Record<string, NamedArrays>>,
  optimizerSteps: OptimizerSteps,
  models: TrainedModels,
  key: (name: string) => string,
): void {
  for (const [name, { model, optimizer }] of Object.entries(models)) {
    const segments = (kind: string) =>
      weightsOf(model).map((tensor, i) => {
        const data = stored[name]?.[`${kind}.${i}`];
        if (!(data instanceof Float32Array) || data.length !== tensor.size) {
          throw new UserError(
            `${path}: the ${name}'s ${kind} do not have the size of the model the configuration ` +
              `names; was ${key(name)} changed since the run began?`,
          );
        }
        return data;
      });
    segments("weights").forEach((data, i) => model.gpu.write(weightsOf(model)[i], data));
    model.trainable?.weightsChanged();
    optimizer.load(optimizerSteps[name], segments("first_moments"), segments("second_moments"));
  }
}
