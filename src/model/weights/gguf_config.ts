import { UserError } from "../../base/user_error.ts";
import { inverseFrequencies } from "../../kernels/attention/rope_table.ts";
import { architectures, type ModelConfig, parseModelConfig } from "../decoder/config.ts";
import type { GgufFile } from "./gguf_file.ts";
import { ropeFactorsName } from "./gguf_names.ts";
import { ropeDivisors, type RopeScaling } from "../decoder/rope_scaling.ts";

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
  const architecture = metadata["general.architecture"];
  if (!(architectures as readonly unknown[]).includes(architecture)) {
    throw new UserError(
      `${path}: general.architecture is ${JSON.stringify(architecture)}; supported: ${
        architectures.join(", ")
      }`,
    );
  }
  const value = (key: string) => {
    const found = metadata[`${architecture}.${key}`];
    return typeof found === "bigint" ? Number(found) : found;
  };
  const scaling = value("rope.scaling.type");
  if (scaling !== undefined && scaling !== "none" && scaling !== "linear") {
    throw new UserError(
      `${path}: ${architecture}.rope.scaling.type is ${JSON.stringify(scaling)}; supported: linear`,
    );
  }
  const json = {
    model_type: architecture,
    vocab_size: tensors.get("model.embed_tokens.weight")?.shape[0],
    hidden_size: value("embedding_length"),
    intermediate_size: value("feed_forward_length"),
    num_hidden_layers: value("block_count"),
    num_attention_heads: value("attention.head_count"),
    num_key_value_heads: value("attention.head_count_kv"),
    head_dim: value("attention.key_length"),
    rms_norm_eps: value("attention.layer_norm_rms_epsilon"),
    rope_theta: value("rope.freq_base"),
    max_position_embeddings: value("context_length"),
    tie_word_embeddings: !tensors.has("lm_head.weight"),
    ...(scaling === "linear"
      ? { rope_scaling: { rope_type: "linear", factor: value("rope.scaling.factor") } }
      : {}),
  };
  const config = parseModelConfig(json, path);
  const ropeScaling = tensors.has(ropeFactorsName) ? scalingOfFactors(file, config) : null;
  // The format keeps epsilon in f32; the model's own is a short decimal.
  const normEpsilon = Number(config.normEpsilon.toPrecision(6));
  return { ...config, normEpsilon, ropeScaling: ropeScaling ?? config.ropeScaling };
}

/** Llama 3.1 and its relatives, whose files hold what the scaling comes to instead of its parameters. */
function scalingOfFactors(file: GgufFile, { headDim, ropeTheta }: ModelConfig): RopeScaling {
  const bytes = file.read(ropeFactorsName, 0, headDim / 2 * 4);
  const factors = new Float32Array(bytes.buffer);
  const scaling: RopeScaling = {
    type: "llama3",
    factor: Number(factors[factors.length - 1].toPrecision(6)),
    lowFrequencyFactor: 1,
    highFrequencyFactor: 4,
    originalPositions: 8192,
  };
  const expected = ropeDivisors(inverseFrequencies(headDim, ropeTheta), scaling);
  if (!factors.every((factor, i) => Math.abs(factor - expected[i]) <= 1e-3 * expected[i])) {
    throw new UserError(
      `${file.path}: ${ropeFactorsName} is not the rotary scaling of Llama 3.1, the only one supported`,
    );
  }
  return scaling;
}
