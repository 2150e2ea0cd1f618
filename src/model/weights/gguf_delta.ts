/** DeltaNets in the header of a GGUF file, where they are llama.cpp's `ssm`. */

import { UserError } from "../../base/user_error.ts";
import type { DeltaShape } from "../../kernels/delta/delta_shape.ts";
import { attends, kindOf, type ModelConfig } from "../decoder/config.ts";
import type { Json } from "./config/config_keys.ts";
import { ggufValue, type GgufValues } from "./gguf_writing.ts";
import type { DeltaHeads } from "./value_heads.ts";

/** A value of a header by its key, without the architecture before it. */
type Value = (key: string) => unknown;

/** The DeltaNets of a model; null of one without. */
export const deltaOf = ({ kinds }: ModelConfig): DeltaShape | null =>
  kinds.find(({ delta }) => delta !== undefined)?.delta ?? null;

/** Every how many layers one attends while the others have a DeltaNet; null where no number says it. */
export function attentionInterval(config: ModelConfig): number | null {
  const all = Array.from({ length: config.layers }, (_, i) => attends(kindOf(config, i)));
  const interval = all.indexOf(true) + 1;
  return all.every((one, i) => one === (interval > 0 && (i + 1) % interval === 0))
    ? interval
    : null;
}

/** The keys of a model with DeltaNets, without the architecture before them. */
export function deltaValues(config: ModelConfig, rotated: number): GgufValues {
  const { whole, wholes } = ggufValue;
  const delta = deltaOf(config), interval = attentionInterval(config);
  if (delta === null || interval === null) throw new Error("the model was not checked");
  // Three positions of a token take turns, pair by pair; of a text they are one.
  const pairs = Array.from({ length: rotated / 2 }, (_, pair) => pair % 3);
  const turns = [0, 1, 2].map((turn) => pairs.filter((one) => one === turn).length);
  return {
    "ssm.conv_kernel": whole(delta.taps),
    "ssm.state_size": whole(delta.keyDim),
    "ssm.group_count": whole(delta.keyHeads),
    "ssm.time_step_rank": whole(delta.valueHeads),
    "ssm.inner_size": whole(delta.valueHeads * delta.valueDim),
    full_attention_interval: whole(interval),
    "rope.dimension_sections": wholes([...turns, 0]),
  };
}

/**
 * The heads of a header's DeltaNets; null where it has none, or what cannot be: the configuration then names it.
 */
export function headsInHeader(value: Value): DeltaHeads | null {
  const [keyHeads, valueHeads, keyDim, inner] = [
    "ssm.group_count",
    "ssm.time_step_rank",
    "ssm.state_size",
    "ssm.inner_size",
  ].map((key) => Number(value(key)));
  const heads = { keyHeads, valueHeads, keyDim, valueDim: inner / valueHeads };
  const areWhole = Object.values(heads).every((size) => Number.isSafeInteger(size) && size > 0);
  return areWhole && valueHeads % keyHeads === 0 ? heads : null;
}

/**
 * The keys of `config.json` that say the same as a header.
 *
 * @param layers without those that guess the token after the next one
 * @throws UserError naming the key that is missing or does not fit
 */
export function deltaKeys(path: string, value: Value, layers: number): Json {
  const size = (key: string): number => {
    const found = value(key);
    if (typeof found === "number" && Number.isSafeInteger(found) && found > 0) return found;
    throw new UserError(`${path}: ${key} is ${JSON.stringify(found)}; expected a positive integer`);
  };
  const valueHeads = size("ssm.time_step_rank"), inner = size("ssm.inner_size");
  if (inner % valueHeads !== 0) {
    throw new UserError(
      `${path}: ssm.inner_size ${inner} is no multiple of the ${valueHeads} value heads of ssm.time_step_rank`,
    );
  }
  return {
    linear_num_key_heads: size("ssm.group_count"),
    linear_num_value_heads: valueHeads,
    linear_key_head_dim: size("ssm.state_size"),
    linear_value_head_dim: inner / valueHeads,
    linear_conv_kernel_dim: size("ssm.conv_kernel"),
    full_attention_interval: value("full_attention_interval"),
    ...layerTypes(path, value("attention.recurrent_layers"), layers),
  };
}

/** What newer files may say of each layer, those that guess among them. */
function layerTypes(path: string, found: unknown, layers: number): Json {
  if (found === undefined) return {};
  const isList = Array.isArray(found) && found.length >= layers &&
    found.every((one) => typeof one === "boolean");
  if (!isList) {
    throw new UserError(
      `${path}: attention.recurrent_layers is no list of true and false for ${layers} layers`,
    );
  }
  return {
    layer_types: (found as boolean[]).slice(0, layers)
      .map((isDelta) => isDelta ? "linear_attention" : "full_attention"),
  };
}
