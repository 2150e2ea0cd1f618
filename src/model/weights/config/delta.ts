/** Layers with a gated DeltaNet in attention's place, as a `config.json` has them. */

import { UserError } from "../../../base/user_error.ts";
import type { DeltaShape } from "../../../kernels/delta/delta_shape.ts";
import { kindOf, type ModelConfig } from "../../decoder/config.ts";
import { ConfigKeys } from "./config_keys.ts";
import { readSharedExperts } from "./experts.ts";
import { expectFullAttention, type LayerKinds, readLayerTypes } from "./layer_kinds.ts";
import { readRotation } from "./rotation_json.ts";

/** A lane keeps a column of a head's state, and a row, in registers. */
const widestHead = 256;
/** The taps of a channel lie in the text of a kernel. */
const mostTaps = 16;

/** The keys of a DeltaNet's heads, and what holds where they are left out. */
const sizeKeys = [
  ["keyHeads", "linear_num_key_heads", 16],
  ["valueHeads", "linear_num_value_heads", 32],
  ["keyDim", "linear_key_head_dim", 128],
  ["valueDim", "linear_value_head_dim", 128],
  ["taps", "linear_conv_kernel_dim", 4],
] as const;

/** @throws UserError naming the key that is not supported */
function readDelta(keys: ConfigKeys): DeltaShape {
  const { file } = keys;
  const sizes = { keyHeads: 0, valueHeads: 0, keyDim: 0, valueDim: 0, taps: 0 };
  for (const [size, key, usual] of sizeKeys) {
    const value = sizes[size] = keys.integer(key, usual);
    const most = size === "taps" ? mostTaps : size.endsWith("Dim") ? widestHead : Infinity;
    if (value > most) {
      throw new UserError(`${file}: ${key} is ${value}; supported are ${most} at most`);
    }
    if (size !== "taps" && size !== "keyHeads" && value % 4 !== 0) {
      throw new UserError(`${file}: ${key} is ${value}; the kernels need a multiple of 4`);
    }
  }
  if (sizes.valueHeads % sizes.keyHeads !== 0) {
    throw new UserError(
      `${file}: linear_num_value_heads ${sizes.valueHeads} is no multiple of linear_num_key_heads ${sizes.keyHeads}`,
    );
  }
  return sizes;
}

/**
 * Layers of two types: `full_attention`, whose output is gated, and `linear_attention`, a DeltaNet in its place. Without
 * `layer_types` one in `full_attention_interval` attends. A text's three positions (mrope) are one.
 */
export function qwen35Kinds(keys: ConfigKeys, layers: number, headDim: number): LayerKinds {
  expectFullAttention(keys);
  if (!keys.flag("attn_output_gate", true)) {
    throw new UserError(
      `${keys.file}: attn_output_gate is false; only gated attention is supported in this family`,
    );
  }
  const all = new ConfigKeys(
    { ...keys.json, partial_rotary_factor: keys.json.partial_rotary_factor ?? 0.25 },
    keys.file,
  );
  const { rotation, maxPositions } = readRotation(all, headDim, 10_000);
  const attends = { rotation, window: null, gated: true };
  const delta = { rotation, window: null, delta: readDelta(keys) };
  const isGiven = (keys.json.layer_types ?? null) !== null;
  const interval = isGiven ? 0 : keys.integer("full_attention_interval", 4);
  const isLinear = isGiven
    ? readLayerTypes(keys, layers, ["full_attention", "linear_attention"])
      .map((type) => type === "linear_attention")
    : Array.from({ length: Math.min(layers, interval) }, (_, i) => i + 1 < interval);
  return { kinds: isLinear.map((linear) => linear ? delta : attends), maxPositions };
}

/** The same with experts in every layer. */
export function qwen35MoeKinds(keys: ConfigKeys, layers: number, headDim: number): LayerKinds {
  const { kinds, maxPositions } = qwen35Kinds(keys, layers, headDim);
  const experts = readSharedExperts(keys);
  return { kinds: kinds.map((kind) => ({ ...kind, experts })), maxPositions };
}

/** The keys that `qwen35Kinds` reads. */
export function qwen35Json(config: ModelConfig): Readonly<Record<string, unknown>> {
  const kinds = Array.from({ length: config.layers }, (_, i) => kindOf(config, i));
  const shape = kinds.find(({ delta }) => delta)?.delta;
  return {
    attention_bias: config.biases.qkv,
    attn_output_gate: true,
    partial_rotary_factor: kinds[0].rotation.size / config.headDim,
    ...(shape ? Object.fromEntries(sizeKeys.map(([size, key]) => [key, shape[size]])) : {}),
    layer_types: kinds.map(({ delta }) => delta ? "linear_attention" : "full_attention"),
  };
}
