/** Mixtures of experts, as a `config.json` has them. */

import { UserError } from "../../../base/user_error.ts";
import {
  type ExpertsKind,
  kindOf,
  type ModelConfig,
  mostExperts,
  plainExperts,
} from "../../decoder/config.ts";
import type { ConfigKeys } from "./config_keys.ts";
import { expectFullAttention, type LayerKinds, lfm2Kinds } from "./layer_kinds.ts";
import { readRotation } from "./rotation_json.ts";

/** Files name their number by one of these; transformers 5 writes the second. */
const countKeys = ["num_experts", "num_local_experts"] as const;

/**
 * @param widthKey of the width inside an expert
 * @throws UserError naming the key that is not supported
 */
function readExperts(keys: ConfigKeys, widthKey: string): ExpertsKind {
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
  const innerSize = keys.integer(widthKey);
  if (innerSize % 4 !== 0) {
    throw new UserError(
      `${file}: ${widthKey} is ${innerSize}; the kernels need a multiple of 4`,
    );
  }
  return { ...plainExperts, count, chosen, innerSize, normalised: keys.flag("norm_topk_prob") };
}

/**
 * Layers with experts: every `decoder_sparse_step`th, but those of `mlp_only_layers`. The loss that balances experts
 * (`router_aux_loss_coef`) has no part in reinforcement learning and is not read.
 */
export function qwen3MoeKinds(keys: ConfigKeys, layers: number, headDim: number): LayerKinds {
  expectFullAttention(keys);
  const { rotation, maxPositions } = readRotation(keys, headDim, 10_000);
  const dense = { rotation, window: null };
  const sparse = { ...dense, experts: readExperts(keys, "moe_intermediate_size") };
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

/** The experts of all layers of Qwen3.5-MoE, whose weights sum to 1, and one besides that every token takes. */
export function readSharedExperts(keys: ConfigKeys): ExpertsKind {
  const experts = readExperts(keys, "moe_intermediate_size");
  const width = keys.integer("shared_expert_intermediate_size");
  if (width !== experts.innerSize) {
    throw new UserError(
      `${keys.file}: shared_expert_intermediate_size is ${width}; supported is the moe_intermediate_size of the others, ${experts.innerSize}`,
    );
  }
  return { ...experts, normalised: true, shared: true };
}

/** The keys that `readSharedExperts` reads. */
export function sharedExpertsJson({ kinds: [{ experts }] }: ModelConfig) {
  return {
    num_experts: experts?.count,
    num_experts_per_tok: experts?.chosen,
    moe_intermediate_size: experts?.innerSize,
    shared_expert_intermediate_size: experts?.innerSize,
    output_router_logits: false,
  };
}

/** All layers have experts, `intermediate_size` wide. @throws UserError naming a key that only models without it may have */
export function olmoeKinds(keys: ConfigKeys, _layers: number, headDim: number): LayerKinds {
  const { json, file } = keys;
  if ((json.clip_qkv ?? null) !== null) {
    throw new UserError(`${file}: clip_qkv is ${JSON.stringify(json.clip_qkv)}; expected null`);
  }
  const [width, heads] = [keys.integer("hidden_size"), keys.integer("num_attention_heads")];
  if (headDim * heads !== width) {
    throw new UserError(
      `${file}: head_dim is ${headDim}; expected ${
        width / heads
      }, hidden_size / num_attention_heads`,
    );
  }
  const { rotation, maxPositions } = readRotation(keys, headDim, 10_000);
  const experts = readExperts(keys, "intermediate_size");
  return { kinds: [{ rotation, window: null, experts }], maxPositions };
}

/** The keys that `olmoeKinds` reads. */
export function olmoeJson({ biases, kinds: [{ experts }] }: ModelConfig) {
  return {
    attention_bias: biases.qkv,
    clip_qkv: null,
    num_experts: experts?.count,
    num_experts_per_tok: experts?.chosen,
    norm_topk_prob: experts?.normalised,
    output_router_logits: false,
  };
}

/** Layers as LFM2's; those from `num_dense_layers` on have experts. */
export function lfm2MoeKinds(keys: ConfigKeys, layers: number, headDim: number): LayerKinds {
  const { kinds, maxPositions } = lfm2Kinds(keys, layers, headDim);
  const { num_dense_layers: dense = 2 } = keys.json;
  if (!(typeof dense === "number" && Number.isInteger(dense) && dense >= 0)) {
    throw new UserError(
      `${keys.file}: num_dense_layers is ${JSON.stringify(dense)}; expected a number of layers`,
    );
  }
  const experts: ExpertsKind = {
    ...readExperts(keys, "moe_intermediate_size"),
    scores: "sigmoid",
    normalised: keys.flag("norm_topk_prob", true),
    biased: keys.flag("use_expert_bias", true),
    scale: keys.positive("routed_scaling_factor", 1),
  };
  if (experts.biased && experts.count % 4 !== 0) {
    throw new UserError(
      `${keys.file}: there are ${experts.count} experts; with use_expert_bias the kernels need a multiple of 4`,
    );
  }
  return {
    kinds: Array.from({ length: layers }, (_, i) => {
      const kind = kinds[i % kinds.length];
      return i < dense ? kind : { ...kind, experts };
    }),
    maxPositions,
  };
}

/** The keys that `lfm2MoeKinds` reads besides LFM2's. */
export function lfm2MoeJson(config: ModelConfig): Readonly<Record<string, unknown>> {
  const dense = leadingDense(config);
  // Of a model that has none readers ask for the keys all the same.
  const none = {
    ...plainExperts,
    count: 1,
    chosen: 1,
    innerSize: config.intermediateSize,
    normalised: true,
  };
  const { count, chosen, innerSize, biased, normalised, scale } = dense < config.layers
    ? kindOf(config, dense).experts ?? none
    : none;
  return {
    num_dense_layers: dense,
    num_experts: count,
    num_experts_per_tok: chosen,
    moe_intermediate_size: innerSize,
    use_expert_bias: biased,
    norm_topk_prob: normalised,
    // transformers takes no whole number for one that is not, and 1 where there is none.
    ...(scale === 1 ? {} : { routed_scaling_factor: scale }),
    output_router_logits: false,
  };
}

/** How many layers there are before the first that has experts. */
export function leadingDense(config: ModelConfig): number {
  const first = Array.from({ length: config.layers }, (_, i) => kindOf(config, i))
    .findIndex(({ experts }) => experts !== undefined);
  return first < 0 ? config.layers : first;
}
