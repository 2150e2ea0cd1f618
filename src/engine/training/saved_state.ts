import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { pieceBytes, writePiece } from "../../gpu/tensor_pieces.ts";
import { toStorage } from "../../model/decoder/half_precision.ts";
import type { Model } from "../../model/decoder/model.ts";
import type { SliceState } from "../../model/decoder/adamw_state.ts";
import type { Optimizer } from "../../model/decoder/optimizer.ts";
import type { PieceReceiver, TensorEntry, TensorStream } from "../../model/weights/safetensors.ts";

/** A model in training with its optimizer; a `Trainer` is one. */
export interface ModelInTraining {
  readonly model: Model;
  readonly optimizer: Optimizer;
}

/** A slice of a tensor that an update changes, or the whole of one that processes do not share. */
interface StateSlice {
  readonly first: number;
  readonly end: number;
  /** The process whose values are saved. */
  readonly source: number;
  /** Null where this process does not have them. */
  readonly values: Tensor | null;
}

/** A flat f32 tensor that an update changes. */
interface StateTensor {
  /** Elements on all processes together. */
  readonly size: number;
  /** Slices that make up the tensor, in order. */
  readonly slices: readonly StateSlice[];
  /** What holds the same on every process, rounded to 16 bits. */
  readonly rounded?: Tensor;
}

/**
 * Tensors that an update changes, by their names in a file: of the adapter, or of all weights. Of weights that the model
 * reads in 16 bits these are the masters.
 */
function stateOf({ model, optimizer }: ModelInTraining): Map<string, StateTensor> {
  const state = new Map<string, StateTensor>();
  const slicesOf = (tensor: number, which: keyof SliceState) =>
    optimizer.slices.filter((slice) => slice.tensor === tensor).map((slice) => {
      const { first, end, owner: source } = slice;
      return { first, end, source, values: optimizer.state.of(slice)?.[which] ?? null };
    });
  model.trainable?.weights.forEach((values, tensor) => {
    const { size } = values;
    const weights = values.dtype === "f32"
      ? { size, slices: [{ first: 0, end: size, source: 0, values }] }
      : { size, slices: slicesOf(tensor, "master"), rounded: values };
    state.set(`weights.${tensor}`, weights);
    state.set(`first_moments.${tensor}`, { size, slices: slicesOf(tensor, "first") });
    state.set(`second_moments.${tensor}`, { size, slices: slicesOf(tensor, "second") });
  });
  return state;
}

/**
 * The trained weights and both moments as tensors of a file, read from the GPU when it is written. Nobody
 * may train the model before that is done. The optimizer's `step` belongs to them.
 *
 * Where processes share the optimizer, all of them go through the pieces of all tensors, in one order. The
 * first process gets the whole state, whoever has which slice of it; on the others the pieces have the right
 * lengths, and what they hold means nothing.
 *
 * @throws Error when an update was cut off by an error
 */
export function savedState(trained: ModelInTraining): Record<string, TensorStream> {
  trained.optimizer.expectWhole();
  const streams: Record<string, TensorStream> = {};
  for (const [name, { size, slices }] of stateOf(trained)) {
    streams[name] = { dtype: "F32", shape: [size], pieces: () => savedPieces(trained, slices) };
  }
  return streams;
}

async function* savedPieces(
  { model: { gpu }, optimizer: { exchange } }: ModelInTraining,
  slices: readonly StateSlice[],
): AsyncGenerator<Float32Array> {
  for (const { first, end, source, values } of slices) {
    for (let at = first; at < end; at += pieceElements) {
      const length = Math.min(pieceElements, end - at);
      const isOwn = source === exchange.rank && values !== null;
      const piece = isOwn
        ? await gpu.readFloats(values.view(at - first, [length]))
        : new Float32Array(length);
      // The first process has its own already, and the others hear nothing of each other's.
      const isSent = source !== 0 && (isOwn || exchange.rank === 0);
      if (isSent) await exchange.bringToFirst(new Uint8Array(piece.buffer), source);
      yield piece;
    }
  }
}

const pieceElements = pieceBytes / 4;

/**
 * Takes what `savedState` gave back into a model. Each process takes what it has of the state, so that all
 * must be given the whole; how many processes saved it does not matter.
 *
 * @param entries the file's tensors
 * @param differs makes the error when weights or moments are not there or of another size, which is found
 *   before the first piece comes
 */
export function stateReceiver(
  trained: ModelInTraining,
  entries: ReadonlyMap<string, TensorEntry>,
  differs: (kind: string) => Error,
): PieceReceiver {
  const { gpu } = trained.model;
  const targets = stateOf(trained);
  for (const name of new Set([...targets.keys(), ...entries.keys()])) {
    if (!fits(entries.get(name), targets.get(name))) throw differs(name.replace(/\.\d+$/, ""));
  }
  const rounding = new RoundedTensors(gpu);
  return async ({ name, begin, bytes }) => {
    const target = targets.get(name);
    if (!target) throw new Error(`${name} was not checked`);
    const data = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
    if (target.rounded) await rounding.write(target.rounded, begin / 4, data);
    const start = begin / 4, stop = start + data.length;
    for (const { first, end, values } of target.slices) {
      if (!values || stop <= first || end <= start) continue;
      const [from, to] = [Math.max(first, start), Math.min(end, stop)];
      await writePiece(gpu, values, from - first, data.subarray(from - start, to - start));
    }
  };
}

/**
 * Takes the trained weights alone of what `savedState` gave, into a model that is to be asked, not trained.
 *
 * @param entries the file's tensors
 * @param differs makes the error when they are not those of such a model
 */
export function weightsReceiver(
  { gpu, own }: Model,
  entries: ReadonlyMap<string, TensorEntry>,
  differs: () => Error,
): PieceReceiver {
  const targets = new Map(own.weights.map((values, i) => [`weights.${i}`, values]));
  const saved = [...entries.keys()].filter((name) => name.startsWith("weights."));
  for (const name of new Set([...targets.keys(), ...saved])) {
    if (!fits(entries.get(name), targets.get(name))) throw differs();
  }
  const rounding = new RoundedTensors(gpu);
  return async ({ name, begin, bytes }) => {
    const values = targets.get(name);
    if (!values) return; // moments
    const data = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
    if (values.dtype === "f32") await writePiece(gpu, values, begin / 4, data);
    else await rounding.write(values, begin / 4, data);
  };
}

/** Writes f32 pieces, which come in order, into tensors of 16 bits, of which only pairs can be written. */
class RoundedTensors {
  /** The last element of a piece that left it alone. */
  #left = new Float32Array();

  constructor(private readonly gpu: Gpu) {}

  /**
   * @param tensor of an even size
   * @param first where the piece begins
   */
  async write(tensor: Tensor, first: number, data: Float32Array): Promise<void> {
    const left = this.#left;
    const joined = new Float32Array(left.length + data.length);
    joined.set(left);
    joined.set(data, left.length);
    const paired = joined.length - joined.length % 2;
    this.#left = joined.slice(paired);
    const stored = toStorage(joined.subarray(0, paired), tensor.dtype);
    await writePiece(this.gpu, tensor, first - left.length, stored);
  }
}

const fits = (entry: TensorEntry | undefined, target: { readonly size: number } | undefined) =>
  entry?.dtype === "F32" && entry.end - entry.begin === 4 * (target?.size ?? NaN);
