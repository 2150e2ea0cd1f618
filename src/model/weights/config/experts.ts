/** Mixtures of experts, as a `config.json` has them. */

import { UserError } from "../../../base/user_error.ts";
import { type ExpertsKind, kindOf, type ModelConfig, mostExperts } from "../../decoder/config.ts";
import type { ConfigKeys } from "./config_keys.ts";
import { expectFullAttention, type LayerKinds } from "./layer_kinds.ts";
import { readRotation } from "./rotation_json.ts";

/** Files name their number by one of these; transformers 5 writes the second. */
const countKeys = ["num_experts", "num_local_experts"] as const;

/**
 * @param usual what holds where `norm_topk_prob` is left out
 * @throws UserError naming the key that is not supported
 */
function readExperts(keys: ConfigKeys, usual: boolean): ExpertsKind {
  const { file } = keys;
  const countKey = countKeys.find((key) => (keys.json[key] ?? null) !== null) ?? countKeys[0];
  const count = keys.integer(countKey);
  if (count > mostExperts) {
    throw new UserError(`${file}: ${countKey} is ${count}; supported are ${mostExperts} at most`);
  }
  const chosen = keys.integer("num_experts_per_tok");
  if (chosen > count) {
    throw new UserError(
      `${file}: num_experts_per_tok is ${chosen}, more than the ${count} of ${countKey}`,
    );
  }
  const innerSize = keys.integer("moe_intermediate_size");
  if (innerSize % 4 !== 0) {
    throw new UserError(
      `${file}: moe_intermediate_size is ${innerSize}; the kernels need a multiple of 4`,
    );
  }
  return { count, chosen, innerSize, normalised: keys.flag("norm_topk_prob", usual) };
}

/**
 * Layers with experts: every `decoder_sparse_step`th, but those of `mlp_only_layers`. The loss that balances experts
 * (`router_aux_loss_coef`) has no part in reinforcement learning and is not read.
 */
export function qwen3MoeKinds(keys: ConfigKeys, layers: number, headDim: number): LayerKinds {
  expectFullAttention(keys);
  const { rotation, maxPositions } = readRotation(keys, headDim, 10_000);
  const dense = { rotation, window: null };
  const sparse = { ...dense, experts: readExperts(keys, false) };
  const step = keys.integer("decoder_sparse_step", 1);
  const without = keys.json.mlp_only_layers ?? [];
  if (!Array.isArray(without) || !without.every((one) => Number.isInteger(one) && one >= 0)) {
    throw new UserError(
      `${keys.file}: mlp_only_layers is ${JSON.stringify(without)}; expected a list of layers`,
    );
  }
  if (step === 1 && without.length === 0) return { kinds: [sparse], maxPositions };
  const isSparse = (layer: number) => (layer + 1) % step === 0 && !without.includes(layer);
  const kinds = Array.from({ length: layers }, (_, i) => isSparse(i) ? sparse : dense);
  return { kinds, maxPositions };
}

/** The keys that `qwen3MoeKinds` reads. */
export function qwen3MoeJson(config: ModelConfig): Readonly<Record<string, unknown>> {
  const kinds = Array.from({ length: config.layers }, (_, i) => kindOf(config, i));
  // A model may have none, where no layer is a multiple of the step; readers ask for the keys all the same.
  const none = { count: 1, chosen: 1, innerSize: config.intermediateSize, normalised: true };
  const { count, chosen, innerSize, normalised } = kinds.find(({ experts }) => experts)?.experts ??
    none;
  return {
    attention_bias: config.biases.qkv,
    use_sliding_window: false,
    num_experts: count,
    num_experts_per_tok: chosen,
    moe_intermediate_size: innerSize,
    norm_topk_prob: normalised,
    decoder_sparse_step: 1,
    mlp_only_layers: kinds.flatMap(({ experts }, layer) => experts ? [] : [layer]),
    output_router_logits: false,
  };
}
