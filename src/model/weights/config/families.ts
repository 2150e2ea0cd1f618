/** What the families of decoders differ in, as their `config.json` has it: the one place that asks for a family. */

import { UserError } from "../../../base/user_error.ts";
import { type Architecture, type ModelConfig, plainDecoder } from "../../decoder/config.ts";
import type { ConfigKeys } from "./config_keys.ts";

/** What a family's keys say of a decoder besides its sizes. */
export type FamilyTraits = Pick<
  ModelConfig,
  "biases" | "qkNorm" | "fusedProjections" | "scales"
>;

interface Family {
  /** The class of transformers. */
  readonly modelClass: string;
  /** How GGUF files call the family. */
  readonly gguf: string;
  /** The rotation's base where a file names none; 10000 if left out. */
  readonly theta?: number;
  /** Whether queries, keys and values are one tensor, and gate and up another. */
  readonly isFused?: boolean;
  /** Whether GGUF files keep rows of queries and keys that are rotated together side by side. */
  readonly isInterleaved: boolean;
  traits(keys: ConfigKeys): FamilyTraits;
  /** Whether layer i does not rotate: entry i modulo their number. */
  unrotated?(keys: ConfigKeys, layers: number): boolean[];
  /** GGUF files rotate all layers but every nth; left out where they rotate all. */
  readonly everyNth?: number;
  /** The keys that `traits` and `unrotated` read. */
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
    gguf: "llama",
    isInterleaved: true,
    traits: (keys) => ({ ...plainDecoder, biases: llamaBiases(keys) }),
    write: writtenBiases,
  },
  mistral: {
    modelClass: "MistralForCausalLM",
    gguf: "llama",
    isInterleaved: true,
    traits: () => plainDecoder,
    write: () => ({ sliding_window: null }),
  },
  qwen2: {
    modelClass: "Qwen2ForCausalLM",
    gguf: "qwen2",
    isInterleaved: false,
    traits: () => ({ ...plainDecoder, biases: { ...plainDecoder.biases, qkv: true } }),
    write: () => ({ attention_bias: true }),
  },
  qwen3: {
    modelClass: "Qwen3ForCausalLM",
    gguf: "qwen3",
    isInterleaved: false,
    traits: (keys) => ({
      ...plainDecoder,
      biases: { ...llamaBiases(keys), feedForward: false },
      qkNorm: true,
    }),
    write: ({ biases }) => ({ attention_bias: biases.qkv }),
  },
  smollm3: {
    modelClass: "SmolLM3ForCausalLM",
    theta: 2_000_000,
    gguf: "smollm3",
    isInterleaved: true,
    traits: (keys) => ({ ...plainDecoder, biases: llamaBiases(keys) }),
    unrotated: smollm3Unrotated,
    everyNth: 4,
    write: (config) => ({
      ...writtenBiases(config),
      use_sliding_window: false,
      no_rope_layers: Array.from(
        { length: config.layers },
        (_, i) => Number(config.kinds[i % config.kinds.length].rotation.size > 0),
      ),
    }),
  },
  granite: {
    modelClass: "GraniteForCausalLM",
    gguf: "granite",
    isInterleaved: true,
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
  phi3: {
    modelClass: "Phi3ForCausalLM",
    gguf: "phi3",
    isFused: true,
    isInterleaved: false,
    traits: () => ({ ...plainDecoder, fusedProjections: true }),
    write: () => ({ sliding_window: null }),
  },
};

/** The family of a GGUF file of this architecture; null of one that is not known. */
export function familyOfGguf(
  name: unknown,
): Family & { readonly architecture: Architecture } | null {
  const found = Object.entries(families).find(([, { gguf }]) => gguf === name);
  return found ? { architecture: found[0] as Architecture, ...found[1] } : null;
}

/** `no_rope_layers` has 1 for a layer that rotates; without it one in `no_rope_layer_interval` does not. */
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
