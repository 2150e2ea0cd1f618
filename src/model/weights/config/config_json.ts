import { UserError } from "../../../base/user_error.ts";
import { type Architecture, architectures, type ModelConfig } from "../../decoder/config.ts";
import { ConfigKeys, type Json } from "./config_keys.ts";
import { families } from "./families.ts";
import { expectFullAttention, type LayerKinds } from "./layer_kinds.ts";
import { readRotation, rotationJson } from "./rotation_json.ts";

/**
 * Reads a Hugging Face `config.json`.
 *
 * @param file how error messages name it
 * @throws UserError naming the key when the architecture or a value is not supported
 */
export function parseModelConfig(json: unknown, file: string): ModelConfig {
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    throw new UserError(`${file}: expected a JSON object, as transformers writes it`);
  }
  const keys = new ConfigKeys(textJson(json as Json, file), file);
  const { model_type: architecture } = keys.json;
  if (!isArchitecture(architecture)) {
    throw new UserError(
      `${file}: model_type is ${JSON.stringify(architecture)}; supported: ${
        [...architectures, ...Object.keys(decoderOf)].join(", ")
      }`,
    );
  }
  const family = families[architecture];
  const [activationKey, activation] = family.activation ?? ["hidden_act", "silu"];
  const found = keys.json[activationKey] ?? activation;
  if (found !== activation) {
    throw new UserError(
      `${file}: ${activationKey} is ${JSON.stringify(found)}; supported: ${activation}`,
    );
  }
  const heads = keys.integer("num_attention_heads");
  const kvHeads = keys.integer("num_key_value_heads", heads);
  const hiddenSize = keys.integer("hidden_size");
  const headDim = keys.integer("head_dim", hiddenSize / heads);
  const intermediateSize = family.innerSize?.(keys) ?? keys.integer("intermediate_size");
  if (heads % kvHeads !== 0) {
    throw new UserError(
      `${file}: num_attention_heads ${heads} is no multiple of num_key_value_heads ${kvHeads}`,
    );
  }
  for (
    const [key, value, step] of [
      ["hidden_size", hiddenSize, 4],
      ["intermediate_size", intermediateSize, 4],
      ["head_dim", headDim, 8],
    ] as const
  ) {
    if (value % step !== 0) {
      throw new UserError(`${file}: ${key} is ${value}; the kernels need a multiple of ${step}`);
    }
  }
  const layers = keys.integer("num_hidden_layers");
  const { kinds, maxPositions } = family.kinds?.(keys, layers, headDim) ??
    alike(keys, headDim, family.slides === true);
  const part = kinds.find(({ rotation: { size } }) => size > 0 && size < headDim);
  if (part && !family.rotatesPart) {
    throw new UserError(
      `${file}: partial_rotary_factor rotates ${part.rotation.size} of head_dim ${headDim}; this family rotates all`,
    );
  }
  return {
    architecture,
    vocabularySize: keys.integer("vocab_size"),
    hiddenSize,
    intermediateSize,
    layers,
    kinds,
    heads,
    kvHeads,
    headDim,
    normEpsilon: keys.positive(...family.norm ?? ["rms_norm_eps", 1e-6]),
    tiedEmbeddings: family.tiedKey !== undefined && family.tiedKey in keys.json
      ? keys.flag(family.tiedKey)
      : keys.flag("tie_word_embeddings", family.isTied),
    ...family.traits(keys),
    maxPositions,
  };
}

/** Models of several parts, and the `model_type` of their text decoder, which is the part that is read. */
const decoderOf: Readonly<Record<string, Architecture>> = {
  qwen3_5: "qwen3_5_text",
  qwen3_5_moe: "qwen3_5_moe_text",
};

/** The keys of a text decoder: those of `text_config` where the model has other parts. */
function textJson(json: Json, file: string): Json {
  const { model_type: type, text_config: text, tie_word_embeddings: tied } = json;
  if (typeof type !== "string" || !Object.hasOwn(decoderOf, type)) return json;
  if (typeof text !== "object" || text === null || Array.isArray(text)) {
    throw new UserError(`${file}: text_config is ${JSON.stringify(text)}; expected an object`);
  }
  const own = text as Json;
  if ((own.model_type ?? decoderOf[type]) !== decoderOf[type]) {
    throw new UserError(
      `${file}: text_config.model_type is ${JSON.stringify(own.model_type)}; expected ${
        decoderOf[type]
      }`,
    );
  }
  return {
    ...own,
    model_type: decoderOf[type],
    ...(typeof tied === "boolean" ? { tie_word_embeddings: tied } : {}),
  };
}

const isArchitecture = (value: unknown): value is Architecture =>
  (architectures as readonly unknown[]).includes(value);

/**
 * Layers that are all alike.
 *
 * @throws UserError when they slide and the family's do not
 */
function alike(
  keys: ConfigKeys,
  headDim: number,
  slides: boolean,
): LayerKinds {
  const { rotation, maxPositions } = readRotation(keys, headDim, 10_000);
  if (!slides) {
    expectFullAttention(keys);
    return { kinds: [{ rotation, window: null }], maxPositions };
  }
  const isNull = (keys.json.sliding_window ?? null) === null;
  const window = isNull ? maxPositions : keys.integer("sliding_window");
  return { kinds: [{ rotation, window: window < maxPositions ? window : null }], maxPositions };
}

/** The `config.json` that makes `transformers` open a model of this shape. */
export function modelConfigJson(
  config: ModelConfig,
  tokens: { readonly bos: number | null; readonly eos: number | null; readonly pad: number | null },
): Json {
  const family = families[config.architecture];
  const rotated = config.kinds.find(({ rotation }) => rotation.size > 0) ?? config.kinds[0];
  const [activationKey, activation] = family.activation ?? ["hidden_act", "silu"];
  return {
    architectures: [family.modelClass],
    model_type: config.architecture,
    vocab_size: config.vocabularySize,
    hidden_size: config.hiddenSize,
    intermediate_size: config.intermediateSize,
    num_hidden_layers: config.layers,
    num_attention_heads: config.heads,
    num_key_value_heads: config.kvHeads,
    head_dim: config.headDim,
    [activationKey]: activation,
    rms_norm_eps: config.normEpsilon,
    ...rotationJson(rotated.rotation, config.headDim, config.maxPositions),
    max_position_embeddings: config.maxPositions,
    tie_word_embeddings: config.tiedEmbeddings,
    ...family.write(config),
    attention_dropout: 0,
    bos_token_id: tokens.bos,
    eos_token_id: tokens.eos,
    pad_token_id: tokens.pad,
  };
}
