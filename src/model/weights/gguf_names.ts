/** Names that llama.cpp gives the tensors of a model, in the words of Hugging Face. */

import { familyOfGguf } from "./config/families.ts";

const outside: Readonly<Record<string, string>> = {
  token_embd: "model.embed_tokens",
  output_norm: "model.norm",
  output: "lm_head",
};

const inLayer: Readonly<Record<string, string>> = {
  attn_norm: "input_layernorm",
  attn_q: "self_attn.q_proj",
  attn_k: "self_attn.k_proj",
  attn_v: "self_attn.v_proj",
  attn_qkv: "self_attn.qkv_proj",
  attn_q_norm: "self_attn.q_norm",
  attn_k_norm: "self_attn.k_norm",
  attn_output: "self_attn.o_proj",
  ffn_norm: "post_attention_layernorm",
  ffn_gate: "mlp.gate_proj",
  ffn_up: "mlp.up_proj",
  ffn_down: "mlp.down_proj",
};

/** Where a family has gate and up in one tensor, that one is called as up is elsewhere. */
const fusedUp = { gguf: "ffn_up", module: "mlp.gate_up_proj" };

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
  const layer = /^blk\.(\d+)\.(\w+)\.(weight|bias)$/.exec(name);
  if (layer?.[2] === fusedUp.gguf && familyOfGguf(architecture)?.isFused) {
    return `model.layers.${layer[1]}.${fusedUp.module}.${layer[3]}`;
  }
  if (layer && Object.hasOwn(inLayer, layer[2])) {
    return `model.layers.${layer[1]}.${inLayer[layer[2]]}.${layer[3]}`;
  }
  const match = /^(\w+)\.(weight|bias)$/.exec(name);
  return match && Object.hasOwn(outside, match[1]) ? `${outside[match[1]]}.${match[2]}` : name;
}

/** Whether a file pairs the rows that are rotated together, as it does with queries and keys of some families. */
export function isInterleaved(architecture: string, name: string): boolean {
  return familyOfGguf(architecture)?.isInterleaved === true &&
    /^blk\.\d+\.attn_[qk]\.(weight|bias)$/.test(name);
}

/** Their inverse. */
const turned = (names: Readonly<Record<string, string>>) =>
  new Map(Object.entries(names).map(([gguf, name]) => [name, gguf]));
const outsideNames = turned(outside);
const inLayerNames = turned(inLayer).set(fusedUp.module, fusedUp.gguf);

/**
 * llama.cpp's name of a tensor that Hugging Face calls `name`.
 *
 * @throws Error when it has none
 */
export function nameInGguf(name: string): string {
  const match = /^(?:model\.layers\.(\d+)\.)?(.+)\.(weight|bias)$/.exec(name);
  const [, layer, module = "", kind] = match ?? [];
  const gguf = (layer === undefined ? outsideNames : inLayerNames).get(module);
  if (gguf === undefined) throw new Error(`llama.cpp has no name for tensor ${name}`);
  return layer === undefined ? `${gguf}.${kind}` : `blk.${layer}.${gguf}.${kind}`;
}
