import { UserError } from "../../base/user_error.ts";
import type { RopeScaling } from "./rope_scaling.ts";

/** Model families whose Hugging Face `config.json` is understood. */
export const architectures = ["llama", "qwen2", "qwen3"] as const;
export type Architecture = (typeof architectures)[number];

/** The shape of a decoder of the Llama / Qwen2 / Qwen3 family. */
export interface ModelConfig {
  readonly architecture: Architecture;
  /** V */
  readonly vocabularySize: number;
  /** C, the width of the residual stream */
  readonly hiddenSize: number;
  /** I, the width inside the feed-forward block */
  readonly intermediateSize: number;
  readonly layers: number;
  /** H query heads */
  readonly heads: number;
  /** KV key/value heads; divides `heads` */
  readonly kvHeads: number;
  /** D */
  readonly headDim: number;
  readonly normEpsilon: number;
  readonly ropeTheta: number;
  /** Null for positions as they are. */
  readonly ropeScaling: RopeScaling | null;
  readonly tiedEmbeddings: boolean;
  /** Biases on the query, key and value projections (Qwen2). */
  readonly qkvBias: boolean;
  /** RMSNorm on every query and key head (Qwen3). */
  readonly qkNorm: boolean;
  readonly maxPositions: number;
}

type Json = Readonly<Record<string, unknown>>;

/**
 * Reads a Hugging Face `config.json`.
 *
 * @param file how error messages name it
 * @throws UserError naming the key when the architecture or a value is not supported
 */
export function parseModelConfig(json: unknown, file: string): ModelConfig {
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    throw new UserError(`${file}: expected a JSON object, as transformers writes it`);
  }
  const config = json as Json;
  const architecture = config.model_type;
  if (!architectures.includes(architecture as Architecture)) {
    throw new UserError(
      `${file}: model_type is ${JSON.stringify(architecture)}; supported: ${
        architectures.join(", ")
      }`,
    );
  }
  const integer = (key: string, fallback?: number): number => {
    const value = config[key] ?? fallback;
    if (typeof value !== "number" || !Number.isInteger(value) || value < 1) {
      throw new UserError(
        `${file}: ${key} is ${JSON.stringify(value)}; expected a positive integer`,
      );
    }
    return value;
  };
  const positive = (key: string, value: unknown): number => {
    if (typeof value !== "number" || !(value > 0)) {
      throw new UserError(
        `${file}: ${key} is ${JSON.stringify(value)}; expected a positive number`,
      );
    }
    return value;
  };
  const rope = rotaryJson(config, file);
  if (config.attention_bias === true && architecture !== "qwen2" || config.mlp_bias === true) {
    throw new UserError(
      `${file}: attention_bias and mlp_bias are not supported for ${architecture}; expected false`,
    );
  }
  if (config.hidden_act !== undefined && config.hidden_act !== "silu") {
    throw new UserError(
      `${file}: hidden_act is ${JSON.stringify(config.hidden_act)}; supported: silu`,
    );
  }
  if (config.use_sliding_window === true) {
    throw new UserError(`${file}: use_sliding_window is true; only full attention is supported`);
  }
  const heads = integer("num_attention_heads");
  const kvHeads = integer("num_key_value_heads", heads);
  const hiddenSize = integer("hidden_size");
  const headDim = integer("head_dim", hiddenSize / heads);
  const intermediateSize = integer("intermediate_size");
  const maxPositions = integer("max_position_embeddings", 2048);
  if (heads % kvHeads !== 0) {
    throw new UserError(
      `${file}: num_attention_heads ${heads} is no multiple of num_key_value_heads ${kvHeads}`,
    );
  }
  for (
    const [key, value, step] of [
      ["hidden_size", hiddenSize, 4],
      ["intermediate_size", intermediateSize, 4],
      ["head_dim", headDim, 8],
    ] as const
  ) {
    if (value % step !== 0) {
      throw new UserError(`${file}: ${key} is ${value}; the kernels need a multiple of ${step}`);
    }
  }
  return {
    architecture: architecture as Architecture,
    vocabularySize: integer("vocab_size"),
    hiddenSize,
    intermediateSize,
    layers: integer("num_hidden_layers"),
    heads,
    kvHeads,
    headDim,
    normEpsilon: positive("rms_norm_eps", config.rms_norm_eps ?? 1e-6),
    ropeTheta: positive("rope_theta", rope.rope_theta ?? config.rope_theta ?? 10000),
    ropeScaling: parseRopeScaling(rope, file, maxPositions),
    tiedEmbeddings: config.tie_word_embeddings === true,
    qkvBias: architecture === "qwen2",
    qkNorm: architecture === "qwen3",
    maxPositions,
  };
}

/**
 * The settings of the rotation, as transformers 5 finds them: where both keys are there, all is taken from the older
 * `rope_scaling`, unless it is empty.
 *
 * @throws UserError when they are no object, or others for some layers
 */
function rotaryJson(config: Json, file: string): Json {
  for (const key of ["rope_scaling", "rope_parameters"]) {
    const value = config[key] ?? {};
    if (typeof value !== "object" || Array.isArray(value)) {
      throw new UserError(`${file}: ${key} is ${JSON.stringify(value)}; expected an object`);
    }
    const nested = Object.entries(value).find(([, inner]) =>
      typeof inner === "object" && inner !== null && !Array.isArray(inner)
    );
    if (nested) {
      const found = JSON.stringify(nested[1]);
      throw new UserError(
        `${file}: ${key}.${nested[0]} is ${found}; only one rotation for all layers is supported`,
      );
    }
    if (Object.keys(value).length > 0) return value as Json;
  }
  return {};
}

/** @throws UserError when the type of scaling or a value is not supported */
function parseRopeScaling(rope: Json, file: string, maxPositions: number): RopeScaling | null {
  const type = rope.rope_type ?? rope.type ?? "default";
  const positive = (key: string, fallback?: number): number => {
    const value = rope[key] ?? fallback;
    if (typeof value !== "number" || !(value > 0)) {
      throw new UserError(
        `${file}: ${key} of the rotary scaling is ${
          JSON.stringify(value)
        }; expected a positive number`,
      );
    }
    return value;
  };
  switch (type) {
    case "default":
      return null;
    case "linear":
      return { type: "linear", factor: positive("factor") };
    case "llama3":
      return {
        type: "llama3",
        factor: positive("factor"),
        lowFrequencyFactor: positive("low_freq_factor"),
        highFrequencyFactor: positive("high_freq_factor"),
        originalPositions: positive("original_max_position_embeddings", maxPositions),
      };
    default:
      throw new UserError(
        `${file}: rope type ${JSON.stringify(type)}; supported: default, linear, llama3`,
      );
  }
}

function ropeScalingJson(scaling: RopeScaling): Json {
  if (scaling.type === "linear") return { rope_type: "linear", factor: scaling.factor };
  return {
    rope_type: "llama3",
    factor: scaling.factor,
    low_freq_factor: scaling.lowFrequencyFactor,
    high_freq_factor: scaling.highFrequencyFactor,
    original_max_position_embeddings: scaling.originalPositions,
  };
}

const modelClasses: Record<Architecture, string> = {
  llama: "LlamaForCausalLM",
  qwen2: "Qwen2ForCausalLM",
  qwen3: "Qwen3ForCausalLM",
};

/** The `config.json` that makes `transformers` open a model of this shape. */
export function modelConfigJson(
  config: ModelConfig,
  tokens: { readonly bos: number | null; readonly eos: number | null; readonly pad: number | null },
): Json {
  return {
    architectures: [modelClasses[config.architecture]],
    model_type: config.architecture,
    vocab_size: config.vocabularySize,
    hidden_size: config.hiddenSize,
    intermediate_size: config.intermediateSize,
    num_hidden_layers: config.layers,
    num_attention_heads: config.heads,
    num_key_value_heads: config.kvHeads,
    head_dim: config.headDim,
    hidden_act: "silu",
    rms_norm_eps: config.normEpsilon,
    rope_theta: config.ropeTheta,
    ...(config.ropeScaling ? { rope_scaling: ropeScalingJson(config.ropeScaling) } : {}),
    max_position_embeddings: config.maxPositions,
    tie_word_embeddings: config.tiedEmbeddings,
    attention_bias: config.qkvBias,
    attention_dropout: 0,
    ...(config.architecture === "llama" ? { mlp_bias: false } : {}),
    bos_token_id: tokens.bos,
    eos_token_id: tokens.eos,
    pad_token_id: tokens.pad,
  };
}
