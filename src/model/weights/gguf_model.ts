/** A model, or an adapter alone, as the GGUF file that llama.cpp and what is built on it run. */

import { GGMLFileQuantizationType } from "@huggingface/gguf";
import { UserError } from "../../base/user_error.ts";
import { type StoredType, storedTypes } from "../../kernels/parts/stored_type.ts";
import { holdsNonFinite } from "../../kernels/parts/stored_values.ts";
import { kindOf, type LayerKind, type ModelConfig } from "../decoder/config.ts";
import { float32ToBfloat16, float32ToFloat16 } from "../decoder/half_precision.ts";
import type { Model } from "../decoder/model.ts";
import { moduleNames } from "../decoder/names.ts";
import type { NamedTensor } from "../decoder/parameters.ts";
import { ropeDivisors } from "../decoder/rope_scaling.ts";
import { leadingDense } from "./config/experts.ts";
import type { FileContent } from "./file_content.ts";
import { deltaOf, deltaValues } from "./gguf_delta.ts";
import {
  hasOneAdded,
  isInterleaved,
  isNegatedPower,
  isSharedGate,
  longFactorsName,
  nameInGguf,
  ropeFactorsName,
  shortFactorsName,
  stackedNames,
} from "./gguf_names.ts";
import { convolves, expectWritable, rotationOf, traitsOf } from "./gguf_writable.ts";
import { tokenizerValues } from "./gguf_tokenizer_values.ts";
import { encodeGguf, type GgufTensorStream, ggufValue, type GgufValues } from "./gguf_writing.ts";
import type { LoadedModel } from "./model_folder.ts";
import { quantise, type WrittenBlock } from "./quantise.ts";
import { columnsInFile, type HeadsPlace, headsPlace, rowsInFile } from "./value_heads.ts";

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
  { model: { config, parameters }, tokenizer, stopTokens }: LoadedModel,
  type: GgufType,
  name: string,
): Promise<FileContent> {
  const all = { config, tensors: parameters.tensors(), tokenizer, stopTokens };
  return await ggufFile(all, type, name);
}

/** What a file is made of. */
export interface GgufParts extends Pick<LoadedModel, "tokenizer" | "stopTokens"> {
  readonly config: ModelConfig;
  readonly tensors: Iterable<readonly [string, NamedTensor]>;
  /** Matrices that are written in 8 bits whatever the others are; none by default. */
  readonly in8Bits?: (tensor: string) => boolean;
}

/** As `ggufModel`, of parts whose weights need not be on a GPU. */
export async function ggufFile(
  { config, tensors: named, tokenizer, stopTokens, in8Bits }: GgufParts,
  type: GgufType,
  name: string,
): Promise<FileContent> {
  const { name: architecture } = traitsOf(config.architecture);
  expectWritable(config);
  const { router } = moduleNames(config.architecture);
  const byName = Map.groupBy(named, ([tensor]) => nameInGguf(architecture, tensor));
  const tensors = Array.from(byName, ([inFile, parts]) => {
    const [[tensor, whole]] = parts;
    const stored = isSharedGate(config.architecture, tensor)
      ? { ...whole, shape: whole.shape.slice(1) }
      : whole;
    // Readers take no other type for what chooses experts.
    const asked = tensor.endsWith(`.${router}.weight`) ? "F32" : in8Bits?.(tensor) ? "Q8_0" : type;
    const written = typeOf(tensor, stored.shape, asked);
    if (stackedNames(architecture, inFile)) {
      return stacked(inFile, parts.map(([, part]) => part), written);
    }
    const head = isInterleaved(architecture, inFile) ? config.headDim : 0;
    const numbers = hasOneAdded(architecture, tensor)
      ? each(stored, (weight) => weight + 1)
      : isNegatedPower(tensor)
      ? each(stored, negatedPower)
      : stored;
    return stream(inFile, inOrder(headsPlace(deltaOf(config), tensor), numbers), written, head);
  });
  return await encodeGguf({
    ...generalValues(config, name),
    "general.file_type": ggufValue.whole(ggufTypes[type]),
    ...(storedTypes[type].elements > 1
      ? { "general.quantization_version": ggufValue.whole(2) }
      : {}),
    ...shapeValues(config),
    ...tokenizerValues(tokenizer, config.vocabularySize, stopTokens),
  }, [...ropeFactors(config), ...tensors]);
}

/** Another number for each. */
function each({ shape, pieces }: NamedTensor, change: (number: number) => number): NamedTensor {
  return {
    shape,
    async *pieces() {
      for await (const piece of pieces()) yield piece.map(change);
    },
  };
}

/** How much a head lets go, −exp of what is learned. @throws UserError when f32 has no such number */
function negatedPower(log: number): number {
  const decay = Math.fround(-Math.exp(log));
  if (decay < 0 && Number.isFinite(decay)) return decay;
  throw new UserError(
    `A DeltaNet's A_log is ${log}, of which llama.cpp's f32 does not keep the power; export a folder instead, without --gguf`,
  );
}

/** A tensor with the value heads of a DeltaNet as a file has them; as it is where there are none to move. */
function inOrder(place: HeadsPlace | null, tensor: NamedTensor): NamedTensor {
  if (place === null) return tensor;
  const { shape, pieces } = tensor;
  const width = shape.slice(1).reduce((product, n) => product * n, 1);
  return {
    shape,
    async *pieces() {
      if (place.axis === "rows") return yield* rowsInFile(place, width, pieces);
      const rows = width * Math.max(1, Math.floor(PIECE / width));
      for await (const piece of inUnits(pieces(), rows)) yield columnsInFile(place, piece);
    },
  };
}

/**
 * The adapter alone, in f32, which llama.cpp adds to its base as `--lora`. Of experts a file has the matrices of a layer in
 * one tensor, as of the weights.
 *
 * @param name that the file gives the adapter
 * @throws UserError where gate and up of experts have one A, for which the format has no name
 */
export async function ggufAdapter(
  { adapter, config }: Model,
  name: string,
): Promise<FileContent> {
  if (adapter === null) throw new Error("the model has no adapter");
  if (adapter.config.targets.includes("experts.gate_up_proj")) {
    throw new UserError(
      "The adapter changes gate_proj and up_proj of experts as one, which llama.cpp has as two; export it merged.",
    );
  }
  const { name: architecture } = traitsOf(config.architecture);
  const all = Array.from(adapter.parameters.tensors(), ([peft, stored]) => {
    const match = /^base_model\.model\.(.+)\.lora_([AB])\.weight$/.exec(peft);
    if (match === null) throw new Error(`an adapter's tensor is called ${peft}`);
    const tensor = nameInGguf(architecture, `${match[1]}.weight`);
    const heads = headsPlace(deltaOf(config), `${match[1]}.weight`);
    return { tensor, stored, heads, inFile: `${tensor}.lora_${match[2].toLowerCase()}` };
  });
  const tensors = Array.from(Map.groupBy(all, ({ inFile }) => inFile), ([inFile, parts]) => {
    const [{ tensor, stored, heads }] = parts;
    if (stackedNames(architecture, tensor)) {
      return stacked(inFile, parts.map(({ stored }) => stored), "F32");
    }
    // B has the rows of the projection that it changes.
    const isRows = inFile.endsWith("b") && isInterleaved(architecture, tensor);
    const head = isRows ? config.headDim : 0;
    // A has the columns, B the rows.
    const isMoved = heads?.axis === (inFile.endsWith("a") ? "columns" : "rows");
    return stream(inFile, inOrder(isMoved ? heads : null, stored), "F32", head);
  });
  return await encodeGguf({
    ...generalValues(config, name),
    "general.type": ggufValue.text("adapter"),
    "adapter.type": ggufValue.text("lora"),
    "adapter.lora.alpha": ggufValue.real(adapter.config.alpha),
  }, tensors);
}

const generalValues = ({ architecture }: ModelConfig, name: string): GgufValues => ({
  "general.architecture": ggufValue.text(traitsOf(architecture).name),
  "general.name": ggufValue.text(name),
});

function shapeValues(config: ModelConfig): GgufValues {
  const { whole, wholes, real } = ggufValue;
  const values: GgufValues = {
    block_count: whole(config.layers),
    context_length: whole(config.maxPositions),
    embedding_length: whole(config.hiddenSize),
    feed_forward_length: whole(config.intermediateSize),
    "attention.head_count": whole(config.heads),
    "attention.head_count_kv": convolves(config)
      ? wholes(layerNumbers(config, ({ taps }) => taps === undefined ? config.kvHeads : 0))
      : whole(config.kvHeads),
    "attention.key_length": whole(config.headDim),
    "attention.value_length": whole(config.headDim),
    "attention.layer_norm_rms_epsilon": real(config.normEpsilon),
    vocab_size: whole(config.vocabularySize),
    ...rotationValues(config),
    ...familyValues(config),
    ...(traitsOf(config.architecture).hasDelta ? deltaValues(config, rotationOf(config).size) : {}),
    ...expertValues(config),
  };
  const { name } = traitsOf(config.architecture);
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => [`${name}.${key}`, value]),
  );
}

const layerNumbers = (config: ModelConfig, numberOf: (kind: LayerKind) => number) =>
  Array.from({ length: config.layers }, (_, i) => numberOf(kindOf(config, i)));

function expertValues(config: ModelConfig): GgufValues {
  const { experts: traits } = traitsOf(config.architecture);
  const experts = config.kinds.find(({ experts }) => experts !== undefined)?.experts;
  if (!traits || !experts) return {};
  const { whole } = ggufValue;
  return {
    expert_count: whole(experts.count),
    expert_used_count: whole(experts.chosen),
    expert_feed_forward_length: whole(experts.innerSize),
    ...(experts.shared ? { expert_shared_feed_forward_length: whole(experts.innerSize) } : {}),
    ...(traits.mayBeLater ? { leading_dense_block_count: whole(leadingDense(config)) } : {}),
    ...(traits.scores === undefined ? {} : { expert_gating_func: whole(traits.scores) }),
  };
}

/** What a family's files say besides. */
function familyValues({ architecture, kinds, scales, caps }: ModelConfig): GgufValues {
  const { whole, real } = ggufValue;
  if (traitsOf(architecture).hasScales) {
    return {
      "attention.scale": real(scales.attention ?? 1),
      embedding_scale: real(scales.embedding),
      residual_scale: real(scales.residual),
      logit_scale: real(1 / scales.logits),
    };
  }
  // Without it, older readers take a model of this shape for one that slides.
  if (traitsOf(architecture).hasLongFactors) return { "attention.sliding_window": whole(0) };
  const taps = kinds.find(({ taps }) => taps !== undefined)?.taps;
  if (taps !== undefined) return { "shortconv.l_cache": whole(taps) };
  const sliding = kinds.find(({ window }) => window !== null);
  return {
    ...(sliding?.window
      ? {
        "attention.sliding_window": whole(sliding.window),
        "rope.freq_base_swa": real(sliding.rotation.theta),
      }
      : {}),
    ...(caps.attention === null ? {} : { attn_logit_softcapping: real(caps.attention) }),
    ...(caps.logits === null ? {} : { final_logit_softcapping: real(caps.logits) }),
  };
}

function rotationValues(config: ModelConfig): GgufValues {
  const { whole, real, text } = ggufValue;
  const { size, theta, scaling } = rotationOf(config);
  const values = { "rope.dimension_count": whole(size), "rope.freq_base": real(theta) };
  switch (scaling?.type) {
    case "linear":
      return {
        ...values,
        "rope.scaling.type": text("linear"),
        "rope.scaling.factor": real(scaling.factor),
      };
    case "yarn":
      return {
        ...values,
        "rope.scaling.type": text("yarn"),
        "rope.scaling.factor": real(scaling.factor),
        "rope.scaling.original_context_length": whole(scaling.originalPositions),
      };
    case "longrope":
      return {
        ...values,
        "rope.scaling.original_context_length": whole(config.maxPositions),
        "rope.scaling.attn_factor": real(scaling.magnitude),
      };
    default:
      return values;
  }
}

/** What the rotation's frequencies are divided by, where the format has that as tensors: Llama 3.1 and LongRoPE. */
function ropeFactors(config: ModelConfig): GgufTensorStream[] {
  const rotation = rotationOf(config);
  const type = rotation.scaling?.type;
  if (type !== "llama3" && type !== "longrope") return [];
  const factors = new Float32Array(ropeDivisors(rotation));
  const names = type === "llama3" ? [ropeFactorsName] : [shortFactorsName, longFactorsName];
  return names.map((name) => ({
    name,
    type: "F32",
    shape: [factors.length],
    async *pieces() {
      yield await Promise.resolve(new Uint8Array(factors.buffer));
    },
  }));
}

/** What a tensor is written as. */
function typeOf(name: string, shape: readonly number[], type: GgufType): StoredType {
  // Taps of a convolution are no matrix.
  if (shape.length !== 2) return "F32";
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
    // Taps of a convolution, [C, 1, L], are [C, L] in a file.
    shape: shape.length === 3 ? [shape[0], shape[2]] : shape,
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

/** Matrices [rows, columns] of E experts as one tensor [E, rows, columns]. */
function stacked(name: string, parts: readonly NamedTensor[], type: StoredType): GgufTensorStream {
  const [{ shape: [rows, columns] }] = parts;
  const all: NamedTensor = {
    shape: [parts.length * rows, columns],
    async *pieces() {
      for (const { pieces } of parts) yield* pieces();
    },
  };
  return { ...stream(name, all, type, 0), shape: [parts.length, rows, columns] };
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
