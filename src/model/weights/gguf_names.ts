/** Names that llama.cpp gives the tensors of a model, in the words of Hugging Face. */

import { familyOfGguf } from "./config/families.ts";

const outside: Readonly<Record<string, string>> = {
  token_embd: "model.embed_tokens",
  output_norm: "model.norm",
  token_embd_norm: "model.embedding_norm",
  output: "lm_head",
};

const inLayer: Readonly<Record<string, string>> = {
  attn_norm: "input_layernorm",
  attn_q: "self_attn.q_proj",
  attn_k: "self_attn.k_proj",
  attn_v: "self_attn.v_proj",
  attn_q_norm: "self_attn.q_norm",
  attn_k_norm: "self_attn.k_norm",
  attn_output: "self_attn.o_proj",
  ffn_norm: "post_attention_layernorm",
  ffn_gate: "mlp.gate_proj",
  ffn_up: "mlp.up_proj",
  ffn_down: "mlp.down_proj",
};

/** Factors by which the frequencies of the rotation are divided; Llama 3.1's file form of its scaling. */
export const ropeFactorsName = "rope_freqs.weight";

/** LongRoPE's, within the original context and beyond it. */
export const shortFactorsName = "rope_factors_short.weight";
export const longFactorsName = "rope_factors_long.weight";

/**
 * The Hugging Face name of a GGUF tensor; a name that is not known stays as it is.
 *
 * @param architecture of the file
 */
export function ggufTensorName(architecture: string, name: string): string {
  const layer = /^blk\.(\d+)\.([\w.]+)\.(weight|bias)$/.exec(name);
  const modules = { ...inLayer, ...familyOfGguf(architecture)?.gguf.modules };
  if (layer && Object.hasOwn(modules, layer[2])) {
    return `model.layers.${layer[1]}.${modules[layer[2]]}.${layer[3]}`;
  }
  const match = /^(\w+)\.(weight|bias)$/.exec(name);
  return match && Object.hasOwn(outside, match[1]) ? `${outside[match[1]]}.${match[2]}` : name;
}

/** Whether a file pairs the rows that are rotated together, as it does with queries and keys of some families. */
export function isInterleaved(architecture: string, name: string): boolean {
  return familyOfGguf(architecture)?.gguf.isInterleaved === true &&
    /^blk\.\d+\.attn_[qk]\.(weight|bias)$/.test(name);
}

/** Whether a file has 1 added to a tensor of this Hugging Face name. */
export function hasOneAdded(architecture: string, name: string): boolean {
  return familyOfGguf(architecture)?.gguf.addsOne === true && name.endsWith("norm.weight");
}

const nameOf = (names: Readonly<Record<string, string>>, module: string) =>
  Object.entries(names).find(([, name]) => name === module)?.[0];

/**
 * llama.cpp's name of a tensor that Hugging Face calls `name`.
 *
 * @param architecture of the file
 * @throws Error when it has none
 */
export function nameInGguf(architecture: string, name: string): string {
  const match = /^(?:model\.layers\.(\d+)\.)?(.+)\.(weight|bias)$/.exec(name);
  const [, layer, module = "", kind] = match ?? [];
  const own = familyOfGguf(architecture)?.gguf.modules ?? {};
  const gguf = layer === undefined
    ? nameOf(outside, module)
    : nameOf(own, module) ?? nameOf(inLayer, module);
  if (gguf === undefined) throw new Error(`llama.cpp has no name for tensor ${name}`);
  return layer === undefined ? `${gguf}.${kind}` : `blk.${layer}.${gguf}.${kind}`;
}
