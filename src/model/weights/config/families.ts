/** What the families of decoders differ in, as their `config.json` has it: the one place that asks for a family. */

import { UserError } from "../../../base/user_error.ts";
import { type Architecture, kindOf, type ModelConfig, plainDecoder } from "../../decoder/config.ts";
import { deltaNames } from "../../decoder/names.ts";
import type { ConfigKeys } from "./config_keys.ts";
import {
  lfm2MoeJson,
  lfm2MoeKinds,
  olmoeJson,
  olmoeKinds,
  qwen3MoeJson,
  qwen3MoeKinds,
  sharedExpertsJson,
} from "./experts.ts";
import {
  gemma2Kinds,
  gemma3Kinds,
  type LayerKinds,
  lfm2Kinds,
  smollm3Kinds,
} from "./layer_kinds.ts";
import { qwen35Json, qwen35Kinds, qwen35MoeKinds } from "./delta.ts";
import type { GgufTraits } from "./gguf_traits.ts";
import { rotationJson } from "./rotation_json.ts";

/** What a family's keys say of a decoder besides its sizes. */
export type FamilyTraits = Pick<
  ModelConfig,
  "biases" | "qkNorm" | "norms" | "activation" | "fusedProjections" | "scales" | "caps"
>;

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

/** What the files of Gemma 2 and 3 share. */
const gemmaGguf = {
  modules: {
    post_attention_norm: "post_attention_layernorm",
    ffn_norm: "pre_feedforward_layernorm",
    post_ffw_norm: "post_feedforward_layernorm",
  },
  addsOne: true,
} as const;

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

/** What LFM2 with experts and without share. */
const lfm2 = {
  isTied: true,
  norm: ["norm_eps", 1e-5],
  tiedKey: "tie_embedding",
  traits: (keys: ConfigKeys) => {
    if (keys.flag("conv_bias")) {
      throw new UserError(
        `${keys.file}: conv_bias is true; only convolutions without biases are supported`,
      );
    }
    return { ...plainDecoder, qkNorm: true };
  },
} as const;

const lfm2Gguf = {
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
    ffn_gate_inp: "feed_forward.gate",
  },
} as const;

const lfm2Json = (config: ModelConfig) => ({
  norm_eps: config.normEpsilon,
  conv_bias: false,
  conv_L_cache: config.kinds.find(({ taps }) => taps !== undefined)?.taps ?? 3,
  layer_types: Array.from(
    { length: config.layers },
    (_, i) => kindOf(config, i).taps === undefined ? "full_attention" : "conv",
  ),
});

/** What Qwen3.5 with experts and without share. */
const qwen35 = {
  rotatesPart: true,
  traits: (keys: ConfigKeys) => ({
    ...plainDecoder,
    biases: { ...llamaBiases(keys), feedForward: false },
    qkNorm: true,
    norms: { fromOne: true, after: false },
  }),
} as const;

const qwen35Gguf = {
  hasParts: true,
  addsOne: true,
  hasDelta: true,
  modules: {
    post_attention_norm: "post_attention_layernorm",
    attn_qkv: deltaNames.inputs,
    attn_gate: deltaNames.gates,
    ssm_beta: deltaNames.strengths,
    ssm_alpha: deltaNames.steps,
    ssm_conv1d: deltaNames.convolution,
    ssm_norm: deltaNames.norm,
    ssm_out: deltaNames.output,
  },
  tensors: { "ssm_a": deltaNames.decayLogs, "ssm_dt.bias": deltaNames.stepBiases },
} as const;

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
  qwen3_moe: {
    modelClass: "Qwen3MoeForCausalLM",
    gguf: { name: "qwen3moe", experts: { normalised: true } },
    traits: (keys) => ({
      ...plainDecoder,
      biases: { ...llamaBiases(keys), feedForward: false },
      qkNorm: true,
    }),
    kinds: qwen3MoeKinds,
    write: qwen3MoeJson,
  },
  olmoe: {
    modelClass: "OlmoeForCausalLM",
    gguf: {
      name: "olmoe",
      cutsWidth: true,
      experts: { normalised: false },
      isUntied: true,
      takesOneKeyPerQuery: true,
    },
    norm: ["rms_norm_eps", 1e-5],
    traits: (keys) => ({
      ...plainDecoder,
      biases: { ...llamaBiases(keys), feedForward: false },
      qkNorm: "whole",
    }),
    kinds: olmoeKinds,
    write: olmoeJson,
  },
  qwen3_5_text: {
    modelClass: "Qwen3_5ForCausalLM",
    ...qwen35,
    gguf: { name: "qwen35", ...qwen35Gguf },
    kinds: qwen35Kinds,
    write: qwen35Json,
  },
  qwen3_5_moe_text: {
    modelClass: "Qwen3_5MoeForCausalLM",
    ...qwen35,
    gguf: {
      name: "qwen35moe",
      ...qwen35Gguf,
      modules: {
        ...qwen35Gguf.modules,
        ffn_gate_inp_shexp: "mlp.shared_expert_gate",
        ffn_gate_shexp: "mlp.shared_expert.gate_proj",
        ffn_up_shexp: "mlp.shared_expert.up_proj",
        ffn_down_shexp: "mlp.shared_expert.down_proj",
      },
      experts: { normalised: true },
    },
    innerSize: (keys) => keys.integer("moe_intermediate_size"),
    kinds: qwen35MoeKinds,
    write: (config) => ({ ...qwen35Json(config), ...sharedExpertsJson(config) }),
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
  gemma2: {
    modelClass: "Gemma2ForCausalLM",
    isTied: true,
    gguf: {
      ...{ name: "gemma2", ...gemmaGguf, isTied: true, hasCaps: true, scaledByWidth: 46 },
      every: { nth: 2, is: ({ window }) => window === null },
    },
    activation: ["hidden_activation", "gelu_pytorch_tanh"],
    traits: (keys) => ({
      ...gemmaTraits(keys),
      caps: {
        attention: cap(keys, "attn_logit_softcapping", 50),
        logits: cap(keys, "final_logit_softcapping", 30),
      },
    }),
    kinds: gemma2Kinds,
    write: (config) => ({
      ...gemmaJson(config),
      attn_logit_softcapping: config.caps.attention,
      final_logit_softcapping: config.caps.logits,
    }),
  },
  gemma3_text: {
    modelClass: "Gemma3ForCausalLM",
    isTied: true,
    gguf: {
      ...{ name: "gemma3", ...gemmaGguf, scaledByWidth: 62 },
      every: { nth: 6, is: ({ window }) => window === null },
    },
    activation: ["hidden_activation", "gelu_pytorch_tanh"],
    traits: (keys) => ({ ...gemmaTraits(keys), qkNorm: true }),
    kinds: gemma3Kinds,
    write: gemma3Json,
  },
  lfm2: {
    modelClass: "Lfm2ForCausalLM",
    ...lfm2,
    gguf: { name: "lfm2", ...lfm2Gguf },
    innerSize: lfm2InnerSize,
    kinds: lfm2Kinds,
    write: (config) => ({ ...lfm2Json(config), block_auto_adjust_ff_dim: false }),
  },
  lfm2_moe: {
    modelClass: "Lfm2MoeForCausalLM",
    ...lfm2,
    gguf: {
      name: "lfm2moe",
      ...lfm2Gguf,
      tensors: { "exp_probs_b.bias": "feed_forward.expert_bias" },
      experts: { normalised: true, mayBeLater: true, isBiased: true, scores: 2 },
    },
    kinds: lfm2MoeKinds,
    write: (config) => ({ ...lfm2Json(config), ...lfm2MoeJson(config) }),
  },
  phi3: {
    modelClass: "Phi3ForCausalLM",
    rotatesPart: true,
    slides: true,
    gguf: {
      name: "phi3",
      cutsWidth: true,
      hasParts: true,
      hasLongFactors: true,
      modules: { attn_qkv: "self_attn.qkv_proj", ffn_up: "mlp.gate_up_proj" },
    },
    traits: () => ({ ...plainDecoder, fusedProjections: true }),
    write: ({ kinds: [{ window }] }) => ({ sliding_window: window }),
  },
};

/** A family with its `model_type`. */
interface NamedFamily extends Family {
  readonly architecture: Architecture;
}

export const namedFamilies: readonly NamedFamily[] = Object.entries(families)
  .map(([architecture, family]) => ({ architecture: architecture as Architecture, ...family }));

/** The family of a GGUF file of this architecture; null of one that is not known. */
export const familyOfGguf = (name: unknown): NamedFamily | null =>
  namedFamilies.find(({ gguf }) => gguf.name === name) ?? null;

/** Of what `block_ff_dim` or `intermediate_size` says two thirds, rounded up, where the block is to adjust it. */
function lfm2InnerSize(keys: ConfigKeys): number {
  const size = keys.integer("block_ff_dim" in keys.json ? "block_ff_dim" : "intermediate_size");
  if (!keys.flag("block_auto_adjust_ff_dim", true)) return size;
  const multiple = keys.integer("block_multiple_of", 256);
  const share = keys.positive("block_ffn_dim_multiplier", 1);
  return multiple * Math.ceil(Math.floor(share * Math.floor(2 * size / 3)) / multiple);
}

function gemmaTraits(keys: ConfigKeys) {
  return {
    ...plainDecoder,
    biases: { ...llamaBiases(keys), feedForward: false },
    norms: { fromOne: true, after: true },
    activation: "gelu",
    scales: {
      ...plainDecoder.scales,
      embedding: Math.sqrt(keys.integer("hidden_size")),
      attention: keys.positive("query_pre_attn_scalar", 256) ** -0.5,
    },
  } as const;
}

/** What numbers are capped at: null for numbers as they are, and left out what the family's have. */
function cap(keys: ConfigKeys, key: string, usual: number): number | null {
  return keys.json[key] === null ? null : keys.positive(key, usual);
}

/** The keys of attention that Gemma 2 and 3 share. */
function gemmaJson({ biases, scales, headDim, layers, kinds }: ModelConfig) {
  const all = Array.from({ length: layers }, (_, i) => kinds[i % kinds.length]);
  const sliding = all.find(({ window }) => window !== null);
  return {
    attention_bias: biases.qkv,
    query_pre_attn_scalar: Math.round((scales.attention ?? headDim ** -0.5) ** -2),
    use_bidirectional_attention: false,
    layer_types: all.map(({ window }) => window === null ? "full_attention" : "sliding_attention"),
    ...(sliding ? { sliding_window: sliding.window } : {}),
  };
}

function gemma3Json(config: ModelConfig): Readonly<Record<string, unknown>> {
  const { headDim, layers, maxPositions } = config;
  const kinds = Array.from({ length: layers }, (_, i) => kindOf(config, i));
  const sliding = kinds.find(({ window }) => window !== null);
  const full = kinds.find(({ window }) => window === null);
  return {
    ...gemmaJson(config),
    attn_logit_softcapping: null,
    final_logit_softcapping: null,
    rope_scaling: null,
    ...(full ? rotationJson(full.rotation, headDim, maxPositions) : {}),
    ...(sliding ? { rope_local_base_freq: sliding.rotation.theta } : {}),
  };
}
