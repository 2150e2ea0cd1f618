/** The rotation of a decoder, as a `config.json` has it. */

import { UserError } from "../../../base/user_error.ts";
import type { Rotation } from "../../decoder/config.ts";
import type { RopeScaling } from "../../decoder/rope_scaling.ts";
import { ConfigKeys, type Json } from "./config_keys.ts";

/** The rotation, and how many positions it is for. */
export interface ReadRotation {
  readonly rotation: Rotation;
  readonly maxPositions: number;
}

/**
 * Reads the rotation as transformers 5 does.
 *
 * @param headDim D
 * @param defaultTheta the family's
 * @throws UserError naming the key that is not supported
 */
export function readRotation(
  keys: ConfigKeys,
  headDim: number,
  defaultTheta: number,
): ReadRotation {
  const { file } = keys;
  const rope = new ConfigKeys(rotaryJson(keys.json, file), file, " of the rotary scaling");
  const maxPositions = keys.integer("max_position_embeddings", 2048);
  const theta = "rope_theta" in rope.json
    ? new ConfigKeys(rope.json, file).positive("rope_theta")
    : keys.positive("rope_theta", defaultTheta);
  const share = Number(
    rope.json.partial_rotary_factor ?? keys.json.partial_rotary_factor ?? 1,
  );
  // A share that was written as a fraction is of whole elements.
  const size = Math.floor(headDim * share + 1e-9);
  if (!(size > 0 && size <= headDim && size % 8 === 0)) {
    throw new UserError(
      `${file}: partial_rotary_factor ${share} rotates ${size} of head_dim ${headDim}; the kernels need a multiple of 8`,
    );
  }
  // Phi-3 has the original context beside the rotation's keys, where it goes before one among them.
  const original = (fallback = maxPositions) =>
    "original_max_position_embeddings" in keys.json
      ? keys.integer("original_max_position_embeddings")
      : rope.integer("original_max_position_embeddings", fallback);
  const scaling = readScaling(rope, size, maxPositions, original);
  // A position's rotation must not depend on how long a sequence becomes: the short factors hold up to there.
  const isShort = scaling?.type === "longrope";
  return {
    rotation: { size, theta, scaling },
    maxPositions: isShort ? Math.min(original(4096), maxPositions) : maxPositions,
  };
}

/**
 * The keys of the rotation that one type of layers has: those that `rope_parameters` has for it, else `rope_scaling` for
 * full attention and none for others.
 *
 * @param theta the base where they name none
 */
export function rotationKeys(
  { json, file }: ConfigKeys,
  type: "full_attention" | "sliding_attention",
  theta: unknown,
): ConfigKeys {
  const { rope_scaling: scaling, rope_parameters: parameters, ...others } = json;
  const nested = (parameters ?? {}) as Json;
  const own = typeof nested === "object" ? nested[type] ?? {} : parameters;
  return new ConfigKeys({
    ...others,
    rope_theta: theta,
    rope_parameters: own,
    ...(type === "full_attention" && scaling ? { rope_scaling: scaling } : {}),
  }, file);
}

/**
 * The settings of the rotation: where both keys are there, all is taken from the older `rope_scaling`, unless it is
 * empty.
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
function readScaling(
  rope: ConfigKeys,
  size: number,
  maxPositions: number,
  original: (fallback?: number) => number,
): RopeScaling | null {
  const { json, file } = rope;
  const type = json.rope_type ?? json.type ?? "default";
  const growth = (read: () => number) =>
    json.attention_factor === undefined || json.attention_factor === null
      ? read()
      : rope.positive("attention_factor");
  switch (type) {
    case "default":
      return null;
    case "linear":
      return { type: "linear", factor: rope.positive("factor") };
    case "llama3":
      return {
        type: "llama3",
        factor: rope.positive("factor"),
        lowFrequencyFactor: rope.positive("low_freq_factor"),
        highFrequencyFactor: rope.positive("high_freq_factor"),
        originalPositions: original(),
      };
    case "yarn": {
      const originalPositions = original();
      const factor = rope.positive("factor", maxPositions / originalPositions);
      return {
        type: "yarn",
        factor,
        // Zero is as good as nothing there.
        betaFast: rope.positive("beta_fast", 32),
        betaSlow: rope.positive("beta_slow", 1),
        originalPositions,
        magnitude: growth(() => yarnMagnitude(rope, factor)),
        truncate: rope.flag("truncate", true),
      };
    }
    case "longrope":
    case "su": {
      const originalPositions = original(4096);
      const factor = rope.positive("factor", maxPositions / originalPositions);
      const long = Math.log(factor) / Math.log(originalPositions);
      return {
        type: "longrope",
        divisors: rope.positives("short_factor", size / 2),
        magnitude: growth(() => factor <= 1 ? 1 : Math.sqrt(1 + long)),
      };
    }
    default:
      throw new UserError(
        `${file}: rope type ${
          JSON.stringify(type)
        }; supported: default, linear, llama3, yarn, longrope`,
      );
  }
}

function yarnMagnitude(rope: ConfigKeys, factor: number): number {
  const grown = (scale: number) => factor <= 1 ? 1 : 0.1 * scale * Math.log(factor) + 1;
  const { mscale, mscale_all_dim: all } = rope.json;
  return mscale && all
    ? grown(rope.positive("mscale")) / grown(rope.positive("mscale_all_dim"))
    : grown(1);
}

/**
 * The keys that `readRotation` reads.
 *
 * @param maxPositions of the model
 */
export function rotationJson(
  { size, theta, scaling }: Rotation,
  headDim: number,
  maxPositions: number,
): Json {
  return {
    rope_theta: theta,
    ...(size > 0 && size < headDim ? { partial_rotary_factor: size / headDim } : {}),
    ...(scaling ? { rope_scaling: scalingJson(scaling, maxPositions) } : {}),
    ...(scaling?.type === "longrope" ? { original_max_position_embeddings: maxPositions } : {}),
  };
}

function scalingJson(scaling: RopeScaling, maxPositions: number): Json {
  switch (scaling.type) {
    case "linear":
      return { rope_type: "linear", factor: scaling.factor };
    case "llama3":
      return {
        rope_type: "llama3",
        factor: scaling.factor,
        low_freq_factor: scaling.lowFrequencyFactor,
        high_freq_factor: scaling.highFrequencyFactor,
        original_max_position_embeddings: scaling.originalPositions,
      };
    case "yarn":
      return {
        rope_type: "yarn",
        factor: scaling.factor,
        beta_fast: scaling.betaFast,
        beta_slow: scaling.betaSlow,
        original_max_position_embeddings: scaling.originalPositions,
        attention_factor: scaling.magnitude,
        truncate: scaling.truncate,
      };
    case "longrope":
      return {
        rope_type: "longrope",
        short_factor: scaling.divisors,
        // Longer sequences than these are for are refused; readers ask for both.
        long_factor: scaling.divisors,
        original_max_position_embeddings: maxPositions,
        attention_factor: scaling.magnitude,
      };
  }
}
