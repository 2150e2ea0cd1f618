/** Names that llama.cpp gives the tensors of a model, in the words of Hugging Face. */

import {
  convolutionNames,
  deltaNames,
  expertModule,
  lastName,
  type ModuleNames,
  moduleNames,
} from "../decoder/names.ts";
import type { Architecture } from "../decoder/config.ts";
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
  ffn_gate_inp: "mlp.gate",
};

/** Projections of experts, of which a file has those of a layer in one tensor, and what does the same without experts. */
const stacks = { ffn_gate_exps: "gate", ffn_up_exps: "up", ffn_down_exps: "down" } as const;

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
  const family = familyOfGguf(architecture);
  const tensors = family?.gguf.tensors ?? {};
  const [, number, own = ""] = /^blk\.(\d+)\.(.+)$/.exec(name) ?? [];
  if (Object.hasOwn(tensors, own)) return `model.layers.${number}.${tensors[own]}`;
  const layer = /^blk\.(\d+)\.([\w.]+)\.(weight|bias)$/.exec(name);
  const modules = { ...inLayer, ...family?.gguf.modules };
  if (layer && Object.hasOwn(modules, layer[2])) {
    return `model.layers.${layer[1]}.${modules[layer[2]]}.${layer[3]}`;
  }
  const match = /^(\w+)\.(weight|bias)$/.exec(name);
  return match && Object.hasOwn(outside, match[1]) ? `${outside[match[1]]}.${match[2]}` : name;
}

/**
 * The Hugging Face names of the experts' matrices that a GGUF tensor holds one after the other; null of another tensor.
 *
 * @param architecture of the file
 */
export function stackedNames(
  architecture: string,
  name: string,
): ((expert: number) => string) | null {
  const family = familyOfGguf(architecture);
  const match = /^blk\.(\d+)\.(\w+)\.weight$/.exec(name);
  if (!family?.gguf.experts || !match || !Object.hasOwn(stacks, match[2])) return null;
  const names = moduleNames(family.architecture);
  const module = names[stacks[match[2] as keyof typeof stacks]];
  return (expert) => `model.layers.${match[1]}.${expertModule(names, expert, module)}.weight`;
}

/** Whether a file pairs the rows that are rotated together, as it does with queries and keys of some families. */
export function isInterleaved(architecture: string, name: string): boolean {
  return familyOfGguf(architecture)?.gguf.isInterleaved === true &&
    /^blk\.\d+\.attn_[qk]\.(weight|bias)$/.test(name);
}

/** Whether a file has 1 added to a tensor of this Hugging Face name. */
export function hasOneAdded(architecture: string, name: string): boolean {
  // A DeltaNet's norm multiplies by its weight as it is.
  return familyOfGguf(architecture)?.gguf.addsOne === true && name.endsWith("norm.weight") &&
    !name.endsWith(`.${deltaNames.norm}.weight`);
}

/** Whether a file has −exp of a tensor of this Hugging Face name: the decays of a DeltaNet's heads. */
export const isNegatedPower = (name: string) => name.endsWith(`.${deltaNames.decayLogs}`);

/** Whether a tensor of this Hugging Face name has the taps of a convolution, [C, 1, L], which a file has as [C, L]. */
export const areTaps = (name: string) =>
  [convolutionNames.weight, deltaNames.convolution]
    .some((module) => name.endsWith(`.${module}.weight`));

/** Whether a tensor of this Hugging Face name, [1, C], says how much a shared expert counts; a file has it as [C]. */
export const isSharedGate = (architecture: Architecture, name: string) =>
  name.endsWith(`.${moduleNames(architecture).sharedGate}.weight`);

/** The layer of a tensor of a file; null of one outside the layers. */
export function layerInGguf(name: string): number | null {
  const match = /^blk\.(\d+)\./.exec(name);
  return match && Number(match[1]);
}

/** The stack in which an expert's module of this name lies; undefined of a module that is none of an expert. */
function expertPart(names: ModuleNames, module: string): string | undefined {
  if (!module.startsWith(`${names.experts}.`)) return undefined;
  const keys = Object.keys(stacks) as (keyof typeof stacks)[];
  return keys.find((key) => lastName(names[stacks[key]]) === lastName(module));
}

const nameOf = (names: Readonly<Record<string, string>>, module: string) =>
  Object.entries(names).find(([, name]) => name === module)?.[0];

/**
 * llama.cpp's name of a tensor that Hugging Face calls `name`; the matrices of a layer's experts share one.
 *
 * @param architecture of the file
 * @throws Error when it has none
 */
export function nameInGguf(architecture: string, name: string): string {
  const family = familyOfGguf(architecture);
  const inLayers = /^model\.layers\.(\d+)\.(.+)$/.exec(name);
  const tensor = inLayers && nameOf(family?.gguf.tensors ?? {}, inLayers[2]);
  if (tensor) return `blk.${inLayers[1]}.${tensor}`;
  const match = /^(?:model\.layers\.(\d+)\.)?(.+)\.(weight|bias)$/.exec(name);
  const [, layer, module = "", kind] = match ?? [];
  const own = family?.gguf.modules ?? {};
  const ofExpert = family && expertPart(moduleNames(family.architecture), module);
  if (ofExpert) return `blk.${layer}.${ofExpert}.weight`;
  const gguf = layer === undefined
    ? nameOf(outside, module)
    : nameOf(own, module) ?? nameOf(inLayer, module);
  if (gguf === undefined) throw new Error(`llama.cpp has no name for tensor ${name}`);
  return layer === undefined ? `${gguf}.${kind}` : `blk.${layer}.${gguf}.${kind}`;
}
