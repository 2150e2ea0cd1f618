import { UserError } from "../../base/user_error.ts";
import type { ModelConfig } from "../decoder/config.ts";
import { ropeDivisors, type RopeScaling } from "../decoder/rope_scaling.ts";
import { parseModelConfig } from "./config/config_json.ts";
import type { Json } from "./config/config_keys.ts";
import { familyOfGguf, namedFamilies } from "./config/families.ts";
import type { GgufFile } from "./gguf_file.ts";
import { deltaKeys } from "./gguf_delta.ts";
import { ropeFactorsName, shortFactorsName } from "./gguf_names.ts";

type Value = (key: string) => unknown;

/**
 * The model's shape from a GGUF header.
 *
 * @throws UserError naming what is missing or not supported
 */
export function ggufConfig(file: GgufFile): ModelConfig {
  const { metadata, path, tensors } = file;
  if (metadata["general.type"] === "adapter") {
    throw new UserError(
      `${path} is an adapter for llama.cpp's --lora; expected a whole model, or the adapter's folder as PEFT has it`,
    );
  }
  const name = metadata["general.architecture"];
  const family = familyOfGguf(name);
  if (family === null) {
    const known = new Set(namedFamilies.map(({ gguf }) => gguf.name));
    throw new UserError(
      `${path}: general.architecture is ${JSON.stringify(name)}; supported: ${
        [...known].join(", ")
      }`,
    );
  }
  const value: Value = (key) => {
    const found = metadata[`${name}.${key}`];
    return typeof found === "bigint" ? Number(found) : found;
  };
  const hasBias = (module: string) => tensors.has(`model.layers.0.${module}.bias`);
  const heads = value("attention.head_count");
  const { kvHeads, convolves } = family.gguf.convolves
    ? headsOfLayers(path, value("attention.head_count_kv"))
    : { kvHeads: value("attention.head_count_kv"), convolves: null };
  const headDim = value("attention.key_length") ??
    Number(value("embedding_length")) / Number(heads);
  // Of qwen35's, the last ones may guess the token after the next one.
  const layers = family.gguf.hasDelta
    ? Number(value("block_count")) - Number(value("nextn_predict_layers") ?? 0)
    : value("block_count");
  const config = parseModelConfig({
    model_type: family.architecture,
    vocab_size: tensors.get("model.embed_tokens.weight")?.shape[0],
    hidden_size: value("embedding_length"),
    intermediate_size: value("feed_forward_length"),
    num_hidden_layers: layers,
    num_attention_heads: heads,
    num_key_value_heads: kvHeads,
    head_dim: headDim,
    rms_norm_eps: value("attention.layer_norm_rms_epsilon"),
    max_position_embeddings: value("context_length"),
    tie_word_embeddings: !tensors.has("lm_head.weight"),
    attention_bias: hasBias("self_attn.o_proj"),
    mlp_bias: hasBias("mlp.down_proj"),
    sliding_window: value("attention.sliding_window") || null,
    // LFM2's: a layer without key and value heads convolves.
    norm_eps: value("attention.layer_norm_rms_epsilon"),
    block_auto_adjust_ff_dim: false,
    conv_L_cache: value("shortconv.l_cache"),
    ...(convolves ? { layer_types: convolves.map((one) => one ? "conv" : "full_attention") } : {}),
    // Granite's; the others do not read them.
    embedding_multiplier: value("embedding_scale"),
    attention_multiplier: value("attention.scale"),
    residual_multiplier: value("residual_scale"),
    logits_scaling: value("logit_scale"),
    // Gemma's.
    query_pre_attn_scalar: value("block_count") === family.gguf.scaledByWidth
      ? Number(value("embedding_length")) / Number(heads)
      : headDim,
    rope_local_base_freq: value("rope.freq_base_swa"),
    // Without a window no layer slides.
    sliding_window_pattern: value("attention.sliding_window") ? undefined : 1,
    attn_logit_softcapping: value("attn_logit_softcapping"),
    final_logit_softcapping: value("final_logit_softcapping"),
    // Of mixtures of experts.
    num_experts: value("expert_count"),
    num_experts_per_tok: value("expert_used_count"),
    moe_intermediate_size: value("expert_feed_forward_length"),
    shared_expert_intermediate_size: value("expert_shared_feed_forward_length"),
    norm_topk_prob: family.gguf.experts?.normalised,
    use_expert_bias: family.gguf.experts?.isBiased,
    num_dense_layers: value("leading_dense_block_count") ?? 0,
    ...(family.gguf.hasDelta ? deltaKeys(path, value, Number(layers)) : {}),
    ...ropeKeys(file, String(name), value, Number(headDim)),
  }, path);
  const { normEpsilon, scales } = config;
  return {
    ...config,
    normEpsilon: short(normEpsilon),
    scales: !family.gguf.hasScales ? scales : {
      embedding: short(scales.embedding),
      attention: scales.attention && short(scales.attention),
      residual: short(scales.residual),
      logits: 1 / short(1 / scales.logits),
    },
  };
}

/**
 * Key and value heads where a layer that has none convolves.
 *
 * @param found a number for all layers, or one for each
 * @throws UserError when layers that attend have not all the same
 */
function headsOfLayers(
  path: string,
  found: unknown,
): { readonly kvHeads: unknown; readonly convolves: readonly boolean[] | null } {
  if (!Array.isArray(found)) return { kvHeads: found, convolves: null };
  const counts = found.map(Number);
  const [kvHeads, ...others] = new Set(counts.filter((count) => count !== 0));
  if (kvHeads !== undefined && others.length === 0) {
    return { kvHeads, convolves: counts.map((count) => count === 0) };
  }
  throw new UserError(
    `${path}: attention.head_count_kv is [${counts}]; expected one number of heads for all layers that attend, and 0 for the others`,
  );
}

/** The format keeps numbers in f32; the model's own are short decimals. */
const short = (number: number) => Number(number.toPrecision(6));

/** The keys of the rotation, as `config.json` has them. */
function ropeKeys(file: GgufFile, name: string, value: Value, headDim: number): Json {
  const { path, tensors } = file;
  const theta = value("rope.freq_base");
  const size = value("rope.dimension_count") ?? headDim;
  const keys = { rope_theta: theta, partial_rotary_factor: Number(size) / headDim };
  const original = value("rope.scaling.original_context_length");
  if (tensors.has(shortFactorsName)) {
    return {
      ...keys,
      original_max_position_embeddings: original,
      rope_scaling: {
        rope_type: "longrope",
        short_factor: factors(file, shortFactorsName),
        attention_factor: value("rope.scaling.attn_factor"),
      },
    };
  }
  if (tensors.has(ropeFactorsName)) {
    const scaling = scalingOfFactors(file, headDim, Number(theta));
    return {
      ...keys,
      rope_scaling: {
        rope_type: "llama3",
        factor: scaling.factor,
        low_freq_factor: scaling.lowFrequencyFactor,
        high_freq_factor: scaling.highFrequencyFactor,
        original_max_position_embeddings: scaling.originalPositions,
      },
    };
  }
  const type = value("rope.scaling.type");
  const factor = value("rope.scaling.factor");
  switch (type) {
    case undefined:
    case "none":
      return keys;
    case "linear":
      return { ...keys, rope_scaling: { rope_type: "linear", factor } };
    case "yarn":
      return {
        ...keys,
        rope_scaling: {
          rope_type: "yarn",
          factor,
          original_max_position_embeddings: original,
          beta_fast: value("rope.scaling.yarn_beta_fast"),
          beta_slow: value("rope.scaling.yarn_beta_slow"),
          attention_factor: value("rope.scaling.yarn_attn_factor"),
        },
      };
    default:
      throw new UserError(
        `${path}: ${name}.rope.scaling.type is ${JSON.stringify(type)}; supported: linear, yarn`,
      );
  }
}

const factors = (file: GgufFile, name: string): number[] => {
  const count = file.tensors.get(name)?.shape[0] ?? 0;
  return [...new Float32Array(file.read(name, 0, count * 4).buffer)];
};

/** Llama 3.1 and its relatives, whose files hold what the scaling comes to instead of its parameters. */
function scalingOfFactors(
  file: GgufFile,
  size: number,
  theta: number,
): Extract<RopeScaling, { type: "llama3" }> {
  const found = factors(file, ropeFactorsName);
  const scaling = {
    type: "llama3",
    factor: Number(found[found.length - 1].toPrecision(6)),
    lowFrequencyFactor: 1,
    highFrequencyFactor: 4,
    originalPositions: 8192,
  } as const;
  const expected = ropeDivisors({ size, theta, scaling });
  const fits = found.length === expected.length &&
    found.every((factor, i) => Math.abs(factor - expected[i]) <= 1e-3 * expected[i]);
  if (fits) return scaling;
  throw new UserError(
    `${file.path}: ${ropeFactorsName} is not the rotary scaling of Llama 3.1, the only one supported`,
  );
}
