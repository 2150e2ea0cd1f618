/** A model, or an adapter alone, as the GGUF file that llama.cpp and what is built on it run. */

import { GGMLFileQuantizationType } from "@huggingface/gguf";
import { UserError } from "../../base/user_error.ts";
import { inverseFrequencies } from "../../kernels/attention/rope_table.ts";
import { type StoredType, storedTypes } from "../../kernels/parts/stored_type.ts";
import { holdsNonFinite } from "../../kernels/parts/stored_values.ts";
import type { ModelConfig } from "../decoder/config.ts";
import { float32ToBfloat16, float32ToFloat16 } from "../decoder/half_precision.ts";
import type { Model } from "../decoder/model.ts";
import type { NamedTensor } from "../decoder/parameters.ts";
import { ropeDivisors } from "../decoder/rope_scaling.ts";
import type { FileContent } from "./file_content.ts";
import { isInterleaved, nameInGguf, ropeFactorsName } from "./gguf_names.ts";
import { tokenizerValues } from "./gguf_tokenizer_values.ts";
import { encodeGguf, type GgufTensorStream, ggufValue, type GgufValues } from "./gguf_writing.ts";
import type { LoadedModel } from "./model_folder.ts";
import { quantise, type WrittenBlock } from "./quantise.ts";

/** What the matrices of a file can be written as, and the format's number for a file of them. */
export const ggufTypes = {
  F32: GGMLFileQuantizationType.F32,
  F16: GGMLFileQuantizationType.F16,
  BF16: GGMLFileQuantizationType.BF16,
  Q8_0: GGMLFileQuantizationType.Q8_0,
  Q4_0: GGMLFileQuantizationType.Q4_0,
  Q4_K: GGMLFileQuantizationType.Q4_K_S,
} as const satisfies Partial<Record<StoredType, number>>;
export type GgufType = keyof typeof ggufTypes;

/** Elements read from the GPU, put together and written at a time, about. */
const PIECE = 2 ** 20;

/**
 * A whole model with its tokenizer, an adapter already merged. Norms and biases are written in f32. Embedding and
 * head keep 8 bits where other matrices have 4, and so do matrices whose rows no block of 256 divides; rows that
 * no block of 32 divides are written in f16.
 *
 * @param name that the file gives the model
 * @throws UserError where llama.cpp knows no such tokenizer
 */
export async function ggufModel(
  { model, tokenizer, stopTokens }: LoadedModel,
  type: GgufType,
  name: string,
): Promise<FileContent> {
  const { config, parameters } = model;
  const factors = ropeFactors(config);
  const tensors = [...parameters.tensors()].map(([tensor, stored]) => {
    const head = isInterleaved(config.architecture, nameInGguf(tensor)) ? config.headDim : 0;
    return stream(nameInGguf(tensor), stored, typeOf(tensor, stored.shape, type), head);
  });
  return await encodeGguf({
    ...generalValues(config, name),
    "general.file_type": ggufValue.whole(ggufTypes[type]),
    ...(storedTypes[type].elements > 1
      ? { "general.quantization_version": ggufValue.whole(2) }
      : {}),
    ...shapeValues(config),
    ...tokenizerValues(tokenizer, config.vocabularySize, stopTokens),
  }, [...(factors === null ? [] : [factors]), ...tensors]);
}

/**
 * The adapter alone, in f32, which llama.cpp adds to its base as `--lora`.
 *
 * @param name that the file gives the adapter
 */
export async function ggufAdapter(
  { adapter, config }: Model,
  name: string,
): Promise<FileContent> {
  if (adapter === null) throw new Error("the model has no adapter");
  const tensors = [...adapter.parameters.tensors()].map(([peft, stored]) => {
    const match = /^base_model\.model\.(.+)\.lora_([AB])\.weight$/.exec(peft);
    if (match === null) throw new Error(`an adapter's tensor is called ${peft}`);
    const tensor = nameInGguf(`${match[1]}.weight`);
    // B has the rows of the projection that it changes.
    const isRows = match[2] === "B" && isInterleaved(config.architecture, tensor);
    const head = isRows ? config.headDim : 0;
    return stream(`${tensor}.lora_${match[2].toLowerCase()}`, stored, "F32", head);
  });
  return await encodeGguf({
    ...generalValues(config, name),
    "general.type": ggufValue.text("adapter"),
    "adapter.type": ggufValue.text("lora"),
    "adapter.lora.alpha": ggufValue.real(adapter.config.alpha),
  }, tensors);
}

const generalValues = ({ architecture }: ModelConfig, name: string): GgufValues => ({
  "general.architecture": ggufValue.text(architecture),
  "general.name": ggufValue.text(name),
});

function shapeValues(config: ModelConfig): GgufValues {
  const { whole, real, text } = ggufValue;
  const values: GgufValues = {
    block_count: whole(config.layers),
    context_length: whole(config.maxPositions),
    embedding_length: whole(config.hiddenSize),
    feed_forward_length: whole(config.intermediateSize),
    "attention.head_count": whole(config.heads),
    "attention.head_count_kv": whole(config.kvHeads),
    "attention.key_length": whole(config.headDim),
    "attention.value_length": whole(config.headDim),
    "attention.layer_norm_rms_epsilon": real(config.normEpsilon),
    "rope.dimension_count": whole(config.headDim),
    "rope.freq_base": real(config.ropeTheta),
    vocab_size: whole(config.vocabularySize),
    ...(config.ropeScaling?.type === "linear"
      ? {
        "rope.scaling.type": text("linear"),
        "rope.scaling.factor": real(config.ropeScaling.factor),
      }
      : {}),
  };
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => [`${config.architecture}.${key}`, value]),
  );
}

/** Llama 3.1's scaling of the rotation, which the format has as what it divides each frequency by. */
function ropeFactors({ headDim, ropeTheta, ropeScaling }: ModelConfig): GgufTensorStream | null {
  if (ropeScaling?.type !== "llama3") return null;
  const divisors = ropeDivisors(inverseFrequencies(headDim, ropeTheta), ropeScaling);
  const factors = new Float32Array(divisors);
  return {
    name: ropeFactorsName,
    type: "F32",
    shape: [factors.length],
    async *pieces() {
      yield await Promise.resolve(new Uint8Array(factors.buffer));
    },
  };
}

/** What a tensor is written as. */
function typeOf(name: string, shape: readonly number[], type: GgufType): StoredType {
  if (shape.length < 2) return "F32";
  const fits = (wanted: GgufType) => shape[shape.length - 1] % storedTypes[wanted].elements === 0;
  const isTable = name === "model.embed_tokens.weight" || name === "lm_head.weight";
  if (type === "Q4_K" && !fits(type) || isTable && type.startsWith("Q4")) {
    return fits("Q8_0") ? "Q8_0" : "F16";
  }
  return fits(type) ? type : "F16";
}

/** @param headDim D where the rows of each head are interleaved as llama.cpp has them, else 0 */
function stream(
  name: string,
  { shape, pieces }: NamedTensor,
  type: StoredType,
  headDim: number,
): GgufTensorStream {
  const width = shape.length < 2 ? 1 : shape[shape.length - 1];
  const unit = width * (headDim === 0 ? 1 : headDim);
  return {
    name,
    type,
    shape,
    async *pieces() {
      for await (const whole of inUnits(pieces(), unit * Math.max(1, Math.floor(PIECE / unit)))) {
        const bytes = encode(type, headDim === 0 ? whole : interleaved(whole, width, headDim));
        if (holdsNonFinite(type, bytes)) {
          throw new UserError(
            `Tensor ${name} holds numbers beyond what ${type} keeps; name a wider type with --gguf, such as BF16.`,
          );
        }
        yield bytes;
      }
    },
  };
}

/** The same elements in pieces of `size`, the last one with what is left. */
async function* inUnits(
  pieces: AsyncIterable<Float32Array>,
  size: number,
): AsyncGenerator<Float32Array> {
  let held = new Float32Array(size), filled = 0;
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length;) {
      const count = Math.min(piece.length - at, size - filled);
      held.set(piece.subarray(at, at + count), filled);
      at += count;
      filled += count;
      if (filled < size) continue;
      yield held;
      held = new Float32Array(size);
      filled = 0;
    }
  }
  if (filled > 0) yield held.subarray(0, filled);
}

/** Rows j and j + D/2 of each head one after the other: llama.cpp rotates neighbours. */
function interleaved(rows: Float32Array, width: number, headDim: number): Float32Array {
  const result = new Float32Array(rows.length);
  for (let row = 0; row * width < rows.length; row++) {
    const within = row % headDim;
    const half = within < headDim / 2 ? 0 : 1;
    const target = row - within + 2 * (within - half * headDim / 2) + half;
    result.set(rows.subarray(row * width, (row + 1) * width), target * width);
  }
  return result;
}

function encode(type: StoredType, elements: Float32Array): Uint8Array<ArrayBuffer> {
  switch (type) {
    case "F32":
      return bytesOf(elements.slice());
    case "F16":
      return bytesOf(float32ToFloat16(elements));
    case "BF16":
      return bytesOf(float32ToBfloat16(elements));
    default:
      return quantise(type as WrittenBlock, elements);
  }
}

const bytesOf = ({ buffer }: Float32Array<ArrayBuffer> | Uint16Array<ArrayBuffer>) =>
  new Uint8Array(buffer);
