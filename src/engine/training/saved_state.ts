import type { Tensor } from "../../gpu/tensor.ts";
import { readPieces, writePiece } from "../../gpu/tensor_pieces.ts";
import type { Model } from "../../model/decoder/model.ts";
import type { Optimizer } from "../../model/decoder/optimizer.ts";
import type { PieceReceiver, TensorEntry, TensorStream } from "../../model/weights/safetensors.ts";

/** A model in training with its optimizer; a `Trainer` is one. */
export interface TrainedModel {
  readonly model: Model;
  readonly optimizer: Optimizer;
}

/** What an update changes, by its name in a file: flat f32 tensors of the adapter, or of all weights. */
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
 * The trained weights and both moments as tensors of a file, read from the GPU when it is written. Nobody
 * may train the model before that is done. The optimizer's `step` belongs to them.
 */
export function savedState(trained: TrainedModel): Record<string, TensorStream> {
  const { gpu } = trained.model;
  const streams: Record<string, TensorStream> = {};
  for (const [name, tensor] of stateOf(trained)) {
    const pieces = () => readPieces(gpu, tensor);
    streams[name] = { dtype: "F32", shape: [tensor.size], pieces };
  }
  return streams;
}

/**
 * Takes what `savedState` gave back into a model.
 *
 * @param entries the file's tensors
 * @param differs makes the error when weights or moments are not there or of another size, which is found
 *   before the first piece comes
 */
export function stateReceiver(
  trained: TrainedModel,
  entries: ReadonlyMap<string, TensorEntry>,
  differs: (kind: string) => Error,
): PieceReceiver {
  const { gpu } = trained.model;
  const targets = stateOf(trained);
  for (const name of new Set([...targets.keys(), ...entries.keys()])) {
    if (!fits(entries.get(name), targets.get(name))) throw differs(name.replace(/\.\d+$/, ""));
  }
  return async ({ name, begin, bytes }) => {
    const target = targets.get(name);
    if (!target) throw new Error(`${name} was not checked`);
    const data = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
    await writePiece(gpu, target, begin / 4, data);
  };
}

const fits = (entry: TensorEntry | undefined, target: Tensor | undefined) =>
  entry?.dtype === "F32" && entry.end - entry.begin === 4 * (target?.size ?? NaN);
