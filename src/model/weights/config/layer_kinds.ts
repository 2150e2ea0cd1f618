/** What the layers of a family differ in, as its `config.json` has it. */

import { UserError } from "../../../base/user_error.ts";
import type { LayerKind } from "../../decoder/config.ts";
import { ConfigKeys } from "./config_keys.ts";
import { readRotation, rotationKeys } from "./rotation_json.ts";

/** The kinds of a model's layers, and for how many positions they are. */
export interface LayerKinds {
  readonly kinds: readonly LayerKind[];
  readonly maxPositions: number;
}

/** @throws UserError when some layers slide */
export function expectFullAttention({ json, file }: ConfigKeys): void {
  if (json.use_sliding_window === true) {
    throw new UserError(
      `${file}: use_sliding_window is true; in this family only full attention is supported`,
    );
  }
}

/** `no_rope_layers` has 1 for a layer that rotates; without it one in `no_rope_layer_interval` does not. */
export function smollm3Kinds(keys: ConfigKeys, layers: number, headDim: number): LayerKinds {
  const { rotation, maxPositions } = readRotation(keys, headDim, 2_000_000);
  expectFullAttention(keys);
  const turned = { rotation, window: null };
  const unturned = { rotation: { ...rotation, size: 0, scaling: null }, window: null };
  const kinds = smollm3Unrotated(keys, layers).map((stays) => stays ? unturned : turned);
  return { kinds, maxPositions };
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
export function gemma3Kinds(keys: ConfigKeys, layers: number, headDim: number): LayerKinds {
  for (const key of ["attn_logit_softcapping", "final_logit_softcapping"]) {
    if (typeof keys.json[key] === "number") {
      throw new UserError(`${keys.file}: ${key} is ${keys.json[key]}; expected null`);
    }
  }
  expectCausal(keys);
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
  const kinds = slidingLayers(keys, layers, 6).map((slides) => slides ? sliding : full);
  return { kinds, maxPositions: global.maxPositions };
}

/** Layers of two types as Gemma 3's, all with one rotation; without `layer_types` every second one is of full attention. */
export function gemma2Kinds(keys: ConfigKeys, layers: number, headDim: number): LayerKinds {
  expectCausal(keys);
  const { rotation, maxPositions } = readRotation(keys, headDim, 10_000);
  const full = { rotation, window: null };
  const sliding = { rotation, window: keys.integer("sliding_window", 4096) };
  const kinds = slidingLayers(keys, layers, 2).map((slides) => slides ? sliding : full);
  return { kinds, maxPositions };
}

/** @throws UserError when tokens see later ones */
function expectCausal({ json, file }: ConfigKeys): void {
  if (json.use_bidirectional_attention === true) {
    throw new UserError(
      `${file}: use_bidirectional_attention is true; only causal attention is supported`,
    );
  }
}

/**
 * Whether layer i slides: entry i modulo their number.
 *
 * @param usual one in so many has full attention where nothing is said
 */
function slidingLayers(keys: ConfigKeys, layers: number, usual: number): boolean[] {
  const { layer_types: given } = keys.json;
  if (given === undefined || given === null) {
    const pattern = keys.json._sliding_window_pattern ?? keys.json.sliding_window_pattern ??
      usual;
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

/** Layers of two types: `full_attention`, and `conv`, a gated short convolution in its place. */
export function lfm2Kinds(keys: ConfigKeys, layers: number, headDim: number): LayerKinds {
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

/** @throws UserError when `layer_types` has not one of these types for each layer */
export function readLayerTypes(
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
