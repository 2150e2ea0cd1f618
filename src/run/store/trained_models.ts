import { readPieces, writePiece } from "../../gpu/tensor_pieces.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import type { Model } from "../../model/decoder/model.ts";
import type { Optimizer } from "../../model/decoder/optimizer.ts";
import type { TensorEntry, TensorStream } from "../../model/weights/safetensors.ts";
import { UserError } from "../../base/user_error.ts";
import type { JsonValue } from "./json_lines_log.ts";
import type { Checkpoint, StoredCheckpoint } from "./checkpoint.ts";

/** A model in training with its optimizer. */
export interface TrainedModel {
  readonly model: Model;
  readonly optimizer: Optimizer;
}

/** Models in training by the names they have in a checkpoint. */
export type TrainedModels = Readonly<Record<string, TrainedModel>>;

/** Updates made by each optimizer. */
export type OptimizerSteps = { readonly [name: string]: number };

/** What training changes, by its name in a checkpoint: flat f32 tensors. */
function stateOf({ model }: TrainedModel): Map<string, Tensor> {
  const { weights = [], training } = model.trainable ?? {};
  const kinds = {
    weights,
    first_moments: training?.firstMoments ?? [],
    second_moments: training?.secondMoments ?? [],
  };
  return new Map(
    Object.entries(kinds).flatMap(([kind, segments]) =>
      segments.map((segment, i): [string, Tensor] => [`${kind}.${i}`, segment])
    ),
  );
}

/**
 * The trained weights and the moments for a checkpoint, read from the GPU when it is written. Nobody may
 * train the models meanwhile.
 */
export function trainedTensors(
  models: TrainedModels,
): { tensors: Checkpoint["tensors"]; optimizerSteps: OptimizerSteps } {
  const tensors: Record<string, Record<string, TensorStream>> = {};
  const optimizerSteps: Record<string, number> = {};
  for (const [name, trained] of Object.entries(models)) {
    const { model: { gpu }, optimizer } = trained;
    const set: Record<string, TensorStream> = tensors[name] = {};
    for (const [key, tensor] of stateOf(trained)) {
      set[key] = { dtype: "F32", shape: [tensor.size], pieces: () => readPieces(gpu, tensor) };
    }
    optimizerSteps[name] = optimizer.step;
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
export async function restoreTrained<State extends JsonValue>(
  checkpoint: StoredCheckpoint<State>,
  optimizerSteps: OptimizerSteps,
  models: TrainedModels,
  key: (name: string) => string,
): Promise<void> {
  for (const [name, trained] of Object.entries(models)) {
    const { model: { gpu, trainable }, optimizer } = trained;
    const targets = stateOf(trained);
    const differs = (kind: string) =>
      new UserError(
        `${checkpoint.path}: the ${name}'s ${kind} do not have the size of the model the configuration ` +
          `names; was ${key(name)} changed since the run began?`,
      );
    if (!checkpoint.has(name)) throw differs("weights");
    await checkpoint.read(name, (entries) => {
      for (const [tensorName, target] of targets) {
        if (!fits(entries.get(tensorName), target)) throw differs(tensorName.replace(/\.\d+$/, ""));
      }
      return async ({ name: tensorName, begin, bytes }) => {
        const target = targets.get(tensorName);
        if (!target) throw differs(tensorName);
        const data = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
        await writePiece(gpu, target, begin / 4, data);
      };
    });
    optimizer.step = optimizerSteps[name];
    trainable?.weightsChanged();
  }
}

const fits = (entry: TensorEntry | undefined, { size }: Tensor) =>
  entry?.dtype === "F32" && entry.end - entry.begin === 4 * size;
