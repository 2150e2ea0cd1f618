import { UserError } from "../../base/user_error.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import { overflowsBlocks } from "../../kernels/products/kept_blocks.ts";
import { storedBytes, storedTypes } from "../../kernels/parts/stored_type.ts";
import { holdsNonFinite } from "../../kernels/parts/stored_values.ts";
import { unpack } from "../../kernels/products/unpack.ts";
import type { Block } from "../decoder/layout.ts";
import type { Parameters } from "../decoder/parameters.ts";
import type { StoredTensor, WeightFile } from "./weight_file.ts";

/** Bytes read at a time: host memory stays flat whatever the model's size. */
const pieceBytes = 8 * 2 ** 20;

/** Tensors that some files carry and no model of these families needs. */
const needless = /\.rotary_emb\.inv_freq$|^rope_(freqs|factors_(short|long))\.weight$/;

/**
 * Checks by its header alone that a file holds the weights of a model. What they are is checked while they
 * are loaded.
 *
 * @param blocks of the model, or of an adapter
 * @param tied whether the file may carry the head as a second copy of the embedding
 * @throws UserError naming the file and the tensor
 */
export function checkWeights(
  file: WeightFile,
  blocks: readonly Block[],
  { tied = false }: { readonly tied?: boolean } = {},
): void {
  const unknown = new Set(file.tensors.keys());
  const wanted = blocks.flatMap(({ tensors }) => tensors);
  for (const { name, shape } of wanted) {
    const tensor = file.tensors.get(name);
    if (!tensor) throw new UserError(`${file.path}: tensor ${name} [${shape}] is missing`);
    if (tensor.shape.length !== shape.length || tensor.shape.some((n, axis) => n !== shape[axis])) {
      throw new UserError(
        `${tensor.file}: tensor ${name} has shape [${tensor.shape}]; config.json makes it [${shape}]`,
      );
    }
    unknown.delete(name);
  }
  if (tied) unknown.delete("lm_head.weight");
  const stray = [...unknown].find((name) => !needless.test(name));
  if (stray !== undefined) {
    throw new UserError(`${file.path}: tensor ${stray} does not belong to this model`);
  }
}

/**
 * Reads the weights of a checked file, piece by piece, and unpacks them on the GPU. When it fails, the
 * parameters hold a part of them.
 *
 * @throws UserError when a tensor holds NaN, infinity or more than its storage, or the file cannot be read
 */
export async function loadWeights(
  gpu: Gpu,
  parameters: Parameters,
  file: WeightFile,
): Promise<void> {
  const places = [...parameters.places()];
  const total = places.reduce((sum, { tensor: { name, size } }) => {
    const stored = file.tensors.get(name);
    return sum + (stored ? storedBytes(stored.type, size) : 0);
  }, 0);
  let done = 0;
  for (const { tensor: { name, shape, first: origin, size }, segment, start } of places) {
    const tensor = file.tensors.get(name);
    if (!tensor) throw new Error(`${file.path} was not checked: it has no tensor ${name}`);
    for (const { first, elements } of pieces(tensor, origin, size)) {
      const bytes = readPiece(file, name, tensor, first, elements);
      if (holdsNonFinite(tensor.type, bytes)) {
        throw new UserError(`${tensor.file}: tensor ${name} holds NaN or infinity`);
      }
      if (segment.dtype === "q4" && overflowsBlocks(tensor.type, bytes)) {
        throw new UserError(
          `${tensor.file}: tensor ${name} holds numbers beyond 65504, more than blocks of 4 bits keep. Load it with ` +
            `frozen_dtype float32 (on the command line --frozen-dtype float32).`,
        );
      }
      const isVector = shape.length !== 2;
      const words = wordsOf(isVector ? vectorBytes(bytes, elements, tensor) : bytes);
      const packed = gpu.from(words, [words.length], "u32", "packed weights");
      unpack(gpu, packed, segment, {
        type: tensor.type,
        elements,
        firstElement: first - origin,
        width: isVector ? size : shape[1],
        targetStart: start,
        interleavedHead: isVector ? 0 : tensor.interleavedHead,
        columnHeads: tensor.columnHeads,
      });
      gpu.release(packed);
      // Without waiting, pieces on their way to the GPU would pile up in host memory.
      await gpu.finish();
      done += bytes.length;
      gpu.activity.loads?.(file.path, done, total);
    }
  }
  parameters.weightsChanged();
}

/**
 * A norm as it is without the 1 that its file adds; the logarithms of decays; a bias, whose rows have one element, with the
 * two halves of a rotation one after the other.
 *
 * @throws UserError when the file has changed other numbers than f32, or no power
 */
function vectorBytes(
  bytes: Uint8Array<ArrayBuffer>,
  elements: number,
  { type, file, interleavedHead: headDim, hasOneAdded, isNegatedPower }: StoredTensor,
): Uint8Array<ArrayBuffer> {
  if (hasOneAdded || isNegatedPower) {
    if (type !== "F32") {
      const what = hasOneAdded ? "a norm is" : "decays are";
      throw new UserError(`${file}: ${what} stored as ${type}; expected F32`);
    }
    const found = new Float32Array(bytes.slice().buffer);
    if (isNegatedPower && found.some((decay) => !(decay < 0))) {
      throw new UserError(`${file}: a head's decay is not below 0, as ssm_a must be`);
    }
    const weights = found.map((number) => hasOneAdded ? number - 1 : Math.log(-number));
    return new Uint8Array(weights.buffer);
  }
  if (headDim === 0) return bytes;
  const moved = new Uint8Array(bytes.length);
  const size = bytes.length / elements;
  for (let row = 0; row < elements; row++) {
    const within = row % headDim;
    const source = row - within +
      (within < headDim / 2 ? 2 * within : 2 * within - headDim + 1);
    moved.set(bytes.subarray(source * size, (source + 1) * size), row * size);
  }
  return moved;
}

/** Bytes as 32-bit words: the same memory where it is a whole number of words, else a padded copy. */
function wordsOf(bytes: Uint8Array<ArrayBuffer>): Uint32Array {
  const { buffer, byteOffset, length } = bytes;
  if (length % 4 === 0) return new Uint32Array(buffer, byteOffset, length / 4);
  const words = new Uint32Array(Math.ceil(length / 4));
  new Uint8Array(words.buffer).set(bytes);
  return words;
}

/** Cuts `size` elements of a tensor, from `origin` on, into pieces of whole blocks. */
function* pieces(
  { type }: StoredTensor,
  origin: number,
  size: number,
): Generator<{ first: number; elements: number }> {
  const block = storedTypes[type];
  const blocks = Math.floor(pieceBytes / block.bytes / 1024) * 1024;
  const most = blocks * block.elements;
  for (let first = origin; first < origin + size; first += most) {
    yield { first, elements: Math.min(most, origin + size - first) };
  }
}

function readPiece(
  file: WeightFile,
  name: string,
  { type }: StoredTensor,
  first: number,
  elements: number,
): Uint8Array<ArrayBuffer> {
  return file.read(name, storedBytes(type, first), storedBytes(type, elements));
}
