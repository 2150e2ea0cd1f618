/** What the families of decoders differ in, as their `config.json` has it: the one place that asks for a family. */

import { UserError } from "../../../base/user_error.ts";
import {
  type Architecture,
  kindOf,
  type LayerKind,
  type ModelConfig,
  plainDecoder,
} from "../../decoder/config.ts";
import { ConfigKeys } from "./config_keys.ts";
import { readRotation, rotationJson, rotationKeys } from "./rotation_json.ts";

/** The kinds of a model's layers, and for how many positions they are. */
export interface LayerKinds {
  readonly kinds: readonly LayerKind[];
  readonly maxPositions: number;
}

/** What a family's keys say of a decoder besides its sizes. */
export type FamilyTraits = Pick<
  ModelConfig,
  "biases" | "qkNorm" | "norms" | "activation" | "fusedProjections" | "scales"
>;

/** What the GGUF files of a family have otherwise than others. */
interface GgufTraits {
  /** `general.architecture` */
  readonly name: string;
  /** Rows of queries and keys that are rotated together lie side by side. */
  readonly isInterleaved?: boolean;
  /** Projections that may have biases; none if left out. */
  readonly biases?: "all" | "qkv";
  /** Llama 3.1's scaling of the rotation may be there, as factors. */
  readonly hasFactors?: boolean;
  /** A part of a head may be rotated, and LongRoPE's factors may be there. */
  readonly hasParts?: boolean;
  /** Heads are parts of the model's width: D = C / H. */
  readonly cutsWidth?: boolean;
  /** Modules of a layer by names that mean others elsewhere. */
  readonly modules?: Readonly<Record<string, string>>;
  /** There are keys for what the family multiplies by. */
  readonly hasScales?: boolean;
  /** Norms have 1 added to their weights. */
  readonly addsOne?: boolean;
  /** Layers without key and value heads convolve. */
  readonly convolves?: boolean;
  /** Every nth layer is of another kind than the others, which no key says. */
  readonly every?: { readonly nth: number; is(kind: LayerKind): boolean };
}

interface Family {
  /** The class of transformers. */
  readonly modelClass: string;
  readonly gguf: GgufTraits;
  /** Whether the head is the embedding where the file does not say. */
  readonly isTied?: boolean;
  /** A part of each head may be rotated alone. */
  readonly rotatesPart?: boolean;
  /** All layers may look back no further than `sliding_window`. */
  readonly slides?: boolean;
  traits(keys: ConfigKeys): FamilyTraits;
  /** The key of the norms' epsilon, and what holds without it; `rms_norm_eps` and 1e-6 if left out. */
  readonly norm?: readonly [string, number];
  /** A key that goes before `tie_word_embeddings`. */
  readonly tiedKey?: string;
  /** The width inside the feed-forward block; `intermediate_size` if left out. */
  innerSize?(keys: ConfigKeys): number;
  /** The key and the value of the activation; `hidden_act` and `silu` if left out. */
  readonly activation?: readonly [string, string];
  /** What layers differ in; all are alike if left out. */
  kinds?(keys: ConfigKeys, layers: number, headDim: number): LayerKinds;
  /** The keys that `traits` and `kinds` read, without those of a rotation of all layers. */
  write(config: ModelConfig): Readonly<Record<string, unknown>>;
}

/** The biases that Llama's two keys ask for. */
const llamaBiases = (keys: ConfigKeys): ModelConfig["biases"] => ({
  qkv: keys.flag("attention_bias"),
  attentionOutput: keys.flag("attention_bias"),
  feedForward: keys.flag("mlp_bias"),
});

const writtenBiases = ({ biases: { qkv, feedForward } }: ModelConfig) => ({
  attention_bias: qkv,
  mlp_bias: feedForward,
});

export const families: Readonly<Record<Architecture, Family>> = {
  llama: {
    modelClass: "LlamaForCausalLM",
    gguf: { name: "llama", isInterleaved: true, biases: "all", hasFactors: true },
    traits: (keys) => ({ ...plainDecoder, biases: llamaBiases(keys) }),
    write: writtenBiases,
  },
  mistral: {
    modelClass: "MistralForCausalLM",
    slides: true,
    gguf: { name: "llama", isInterleaved: true, biases: "all", hasFactors: true },
    traits: () => plainDecoder,
    write: ({ kinds: [{ window }] }) => ({ sliding_window: window }),
  },
  qwen2: {
    modelClass: "Qwen2ForCausalLM",
    gguf: { name: "qwen2", biases: "qkv", cutsWidth: true },
    traits: () => ({ ...plainDecoder, biases: { ...plainDecoder.biases, qkv: true } }),
    write: () => ({ attention_bias: true }),
  },
  qwen3: {
    modelClass: "Qwen3ForCausalLM",
    gguf: { name: "qwen3" },
    traits: (keys) => ({
      ...plainDecoder,
      biases: { ...llamaBiases(keys), feedForward: false },
      qkNorm: true,
    }),
    write: ({ biases }) => ({ attention_bias: biases.qkv }),
  },
  smollm3: {
    modelClass: "SmolLM3ForCausalLM",
    isTied: true,
    gguf: {
      name: "smollm3",
      isInterleaved: true,
      every: { nth: 4, is: ({ rotation }) => rotation.size === 0 },
    },
    traits: (keys) => ({ ...plainDecoder, biases: llamaBiases(keys) }),
    kinds: smollm3Kinds,
    write: (config) => ({
      ...writtenBiases(config),
      use_sliding_window: false,
      no_rope_layers: Array.from(
        { length: config.layers },
        (_, i) => Number(kindOf(config, i).rotation.size > 0),
      ),
    }),
  },
  granite: {
    modelClass: "GraniteForCausalLM",
    gguf: {
      name: "granite",
      isInterleaved: true,
      biases: "all",
      hasFactors: true,
      hasScales: true,
    },
    traits: (keys) => ({
      ...plainDecoder,
      biases: llamaBiases(keys),
      scales: {
        embedding: keys.positive("embedding_multiplier", 1),
        attention: keys.positive("attention_multiplier", 1),
        residual: keys.positive("residual_multiplier", 1),
        logits: 1 / keys.positive("logits_scaling", 1),
      },
    }),
    write: (config) => ({
      ...writtenBiases(config),
      embedding_multiplier: config.scales.embedding,
      attention_multiplier: config.scales.attention,
      residual_multiplier: config.scales.residual,
      logits_scaling: 1 / config.scales.logits,
    }),
  },
  gemma3_text: {
    modelClass: "Gemma3ForCausalLM",
    isTied: true,
    gguf: {
      name: "gemma3",
      modules: {
        post_attention_norm: "post_attention_layernorm",
        ffn_norm: "pre_feedforward_layernorm",
        post_ffw_norm: "post_feedforward_layernorm",
      },
      addsOne: true,
      every: { nth: 6, is: ({ window }) => window === null },
    },
    activation: ["hidden_activation", "gelu_pytorch_tanh"],
    traits: (keys) => ({
      ...plainDecoder,
      biases: { ...llamaBiases(keys), feedForward: false },
      qkNorm: true,
      norms: { fromOne: true, after: true },
      activation: "gelu",
      scales: {
        ...plainDecoder.scales,
        embedding: Math.sqrt(keys.integer("hidden_size")),
        attention: keys.positive("query_pre_attn_scalar", 256) ** -0.5,
      },
    }),
    kinds: gemma3Kinds,
    write: gemma3Json,
  },
  lfm2: {
    modelClass: "Lfm2ForCausalLM",
    isTied: true,
    gguf: {
      name: "lfm2",
      cutsWidth: true,
      convolves: true,
      modules: {
        attn_norm: "operator_norm",
        attn_q_norm: "self_attn.q_layernorm",
        attn_k_norm: "self_attn.k_layernorm",
        attn_output: "self_attn.out_proj",
        "shortconv.in_proj": "conv.in_proj",
        "shortconv.conv": "conv.conv",
        "shortconv.out_proj": "conv.out_proj",
        ffn_norm: "ffn_norm",
        ffn_gate: "feed_forward.w1",
        ffn_up: "feed_forward.w3",
        ffn_down: "feed_forward.w2",
      },
    },
    norm: ["norm_eps", 1e-5],
    tiedKey: "tie_embedding",
    innerSize: lfm2InnerSize,
    traits: (keys) => {
      if (keys.flag("conv_bias")) {
        throw new UserError(
          `${keys.file}: conv_bias is true; only convolutions without biases are supported`,
        );
      }
      return { ...plainDecoder, qkNorm: true };
    },
    kinds: lfm2Kinds,
    write: (config) => ({
      norm_eps: config.normEpsilon,
      block_auto_adjust_ff_dim: false,
      conv_bias: false,
      conv_L_cache: config.kinds.find(({ taps }) => taps !== undefined)?.taps ?? 3,
      layer_types: Array.from(
        { length: config.layers },
        (_, i) => kindOf(config, i).taps === undefined ? "full_attention" : "conv",
      ),
    }),
  },
  phi3: {
    modelClass: "Phi3ForCausalLM",
    rotatesPart: true,
    slides: true,
    gguf: {
      name: "phi3",
      cutsWidth: true,
      hasParts: true,
      modules: { attn_qkv: "self_attn.qkv_proj", ffn_up: "mlp.gate_up_proj" },
    },
    traits: () => ({ ...plainDecoder, fusedProjections: true }),
    write: ({ kinds: [{ window }] }) => ({ sliding_window: window }),
  },
};

/** The family of a GGUF file of this architecture; null of one that is not known. */
export function familyOfGguf(
  name: unknown,
): Family & { readonly architecture: Architecture } | null {
  const found = Object.entries(families).find(([, { gguf }]) => gguf.name === name);
  return found ? { architecture: found[0] as Architecture, ...found[1] } : null;
}

/** `no_rope_layers` has 1 for a layer that rotates; without it one in `no_rope_layer_interval` does not. */
function smollm3Kinds(keys: ConfigKeys, layers: number, headDim: number): LayerKinds {
  const { rotation, maxPositions } = readRotation(keys, headDim, 2_000_000);
  expectFullAttention(keys);
  const turned = { rotation, window: null };
  const unturned = { rotation: { ...rotation, size: 0, scaling: null }, window: null };
  const kinds = smollm3Unrotated(keys, layers).map((stays) => stays ? unturned : turned);
  return { kinds, maxPositions };
}

/** @throws UserError when some layers slide */
export function expectFullAttention({ json, file }: ConfigKeys): void {
  if (json.use_sliding_window === true) {
    throw new UserError(
      `${file}: use_sliding_window is true; in this family only full attention is supported`,
    );
  }
}

/** Whether layer i does not rotate: entry i modulo their number. */
function smollm3Unrotated(keys: ConfigKeys, layers: number): boolean[] {
  const { no_rope_layers: given } = keys.json;
  if (given === undefined || given === null) {
    const interval = keys.integer("no_rope_layer_interval", 4);
    if (interval > layers) return [false];
    return Array.from({ length: interval }, (_, i) => i + 1 === interval);
  }
  if (
    !Array.isArray(given) || given.length !== layers ||
    !given.every((one) => one === 0 || one === 1)
  ) {
    throw new UserError(
      `${keys.file}: no_rope_layers is ${
        JSON.stringify(given)
      }; expected 0 or 1 for each of the ${layers} layers`,
    );
  }
  return given.map((rotates) => rotates === 0);
}

/**
 * Layers of two types: `sliding_attention`, which look so far back and have a rotation of their own, and
 * `full_attention`; without `layer_types` one in six is of these.
 */
function gemma3Kinds(keys: ConfigKeys, layers: number, headDim: number): LayerKinds {
  for (const key of ["attn_logit_softcapping", "final_logit_softcapping"]) {
    if (typeof keys.json[key] === "number") {
      throw new UserError(`${keys.file}: ${key} is ${keys.json[key]}; expected null`);
    }
  }
  if (keys.json.use_bidirectional_attention === true) {
    throw new UserError(
      `${keys.file}: use_bidirectional_attention is true; only causal attention is supported`,
    );
  }
  const rotationOf = (type: "full_attention" | "sliding_attention", key: string, theta: number) =>
    readRotation(rotationKeys(keys, type, keys.json[key] ?? theta), headDim, theta);
  const global = rotationOf("full_attention", "rope_theta", 1_000_000);
  const local = rotationOf("sliding_attention", "rope_local_base_freq", 10_000);
  if (local.rotation.scaling !== null) {
    throw new UserError(
      `${keys.file}: the rotation of sliding_attention is scaled (${local.rotation.scaling.type}); expected default`,
    );
  }
  const full = { rotation: global.rotation, window: null };
  const sliding = { rotation: local.rotation, window: keys.integer("sliding_window", 4096) };
  const kinds = slidingLayers(keys, layers).map((slides) => slides ? sliding : full);
  return { kinds, maxPositions: global.maxPositions };
}

/** Whether layer i slides: entry i modulo their number. */
function slidingLayers(keys: ConfigKeys, layers: number): boolean[] {
  const { layer_types: given } = keys.json;
  if (given === undefined || given === null) {
    const pattern = keys.json._sliding_window_pattern ?? keys.json.sliding_window_pattern ?? 6;
    if (typeof pattern !== "number" || !Number.isInteger(pattern) || pattern < 1) {
      throw new UserError(
        `${keys.file}: sliding_window_pattern is ${
          JSON.stringify(pattern)
        }; expected a positive integer`,
      );
    }
    if (pattern > layers) return [true];
    return Array.from({ length: pattern }, (_, i) => i + 1 < pattern);
  }
  const types = readLayerTypes(keys, layers, ["full_attention", "sliding_attention"]);
  return types.map((type) => type === "sliding_attention");
}

/** @throws UserError when `layer_types` has not one of these types for each layer */
function readLayerTypes(
  { json: { layer_types: given }, file }: ConfigKeys,
  layers: number,
  types: readonly string[],
): string[] {
  if (Array.isArray(given) && given.length === layers && given.every((t) => types.includes(t))) {
    return given;
  }
  throw new UserError(
    `${file}: layer_types is ${JSON.stringify(given)}; expected ${
      types.join(" or ")
    } for each of the ${layers} layers`,
  );
}

/** Of what `block_ff_dim` or `intermediate_size` says two thirds, rounded up, where the block is to adjust it. */
function lfm2InnerSize(keys: ConfigKeys): number {
  const size = keys.integer("block_ff_dim" in keys.json ? "block_ff_dim" : "intermediate_size");
  if (!keys.flag("block_auto_adjust_ff_dim", true)) return size;
  const multiple = keys.integer("block_multiple_of", 256);
  const share = keys.positive("block_ffn_dim_multiplier", 1);
  return multiple * Math.ceil(Math.floor(share * Math.floor(2 * size / 3)) / multiple);
}

/** Layers of two types: `full_attention`, and `conv`, a gated short convolution in its place. */
function lfm2Kinds(keys: ConfigKeys, layers: number, headDim: number): LayerKinds {
  const { json, file } = keys;
  if (json.theta !== undefined && json.theta !== (json.rope_theta ?? json.theta)) {
    throw new UserError(
      `${file}: theta is ${JSON.stringify(json.theta)} and rope_theta ${
        JSON.stringify(json.rope_theta)
      }; expected one rotation`,
    );
  }
  const all = { max_position_embeddings: 128_000, rope_theta: json.theta, ...json };
  const { rotation, maxPositions } = readRotation(new ConfigKeys(all, file), headDim, 1_000_000);
  const taps = keys.integer("conv_L_cache", 3);
  const attends = { rotation, window: null };
  const convolves = { ...attends, taps };
  const { layer_types: given, full_attn_idxs: indices } = keys.json;
  if ((given ?? null) === null && (indices ?? null) !== null) {
    const isIndex = (i: unknown) => Number.isInteger(i) && Number(i) >= 0 && Number(i) < layers;
    if (!Array.isArray(indices) || !indices.every(isIndex)) {
      throw new UserError(
        `${file}: full_attn_idxs is ${
          JSON.stringify(indices)
        }; expected a list of layers from 0 to ${layers - 1}`,
      );
    }
    const kinds = Array.from(
      { length: layers },
      (_, i) => indices.includes(i) ? attends : convolves,
    );
    return { kinds, maxPositions };
  }
  const types = ["full_attention", "conv"];
  if ((given ?? null) === null) return { kinds: [attends], maxPositions };
  return {
    kinds: readLayerTypes(keys, layers, types).map((type) => type === "conv" ? convolves : attends),
    maxPositions,
  };
}

function gemma3Json(config: ModelConfig): Readonly<Record<string, unknown>> {
  const { biases, scales, headDim, layers, maxPositions } = config;
  const kinds = Array.from({ length: layers }, (_, i) => kindOf(config, i));
  const sliding = kinds.find(({ window }) => window !== null);
  const full = kinds.find(({ window }) => window === null);
  return {
    attention_bias: biases.qkv,
    query_pre_attn_scalar: Math.round((scales.attention ?? headDim ** -0.5) ** -2),
    attn_logit_softcapping: null,
    final_logit_softcapping: null,
    use_bidirectional_attention: false,
    layer_types: kinds.map(({ window }) =>
      window === null ? "full_attention" : "sliding_attention"
    ),
    ...(sliding ? { sliding_window: sliding.window } : {}),
    rope_scaling: null,
    ...(full ? rotationJson(full.rotation, headDim, maxPositions) : {}),
    ...(sliding ? { rope_local_base_freq: sliding.rotation.theta } : {}),
  };
}
