import { includeParts, type Parts } from "../../gpu/wgsl.ts";
import advance_slot from "./advance_slot.wgsl" with { type: "text" };
import attention_backward_bindings from "./attention_backward_bindings.wgsl" with { type: "text" };
import attention_bindings from "./attention_bindings.wgsl" with { type: "text" };
import attention_broadcast_lane from "./attention_broadcast_lane.wgsl" with { type: "text" };
import attention_decode_scores from "./attention_decode_scores.wgsl" with { type: "text" };
import attention_inputs from "./attention_inputs.wgsl" with { type: "text" };
import attention_key_row from "./attention_key_row.wgsl" with { type: "text" };
import attention_query_head from "./attention_query_head.wgsl" with { type: "text" };
import attention_query_heads from "./attention_query_heads.wgsl" with { type: "text" };
import attention_tile from "./attention_tile.wgsl" with { type: "text" };
import attention_tile_columns from "./attention_tile_columns.wgsl" with { type: "text" };
import attention_tile_give from "./attention_tile_give.wgsl" with { type: "text" };
import attention_tile_keys from "./attention_tile_keys.wgsl" with { type: "text" };
import attention_tile_lane from "./attention_tile_lane.wgsl" with { type: "text" };
import attention_tile_put from "./attention_tile_put.wgsl" with { type: "text" };
import attention_tile_scores from "./attention_tile_scores.wgsl" with { type: "text" };
import attention_tile_scores_step from "./attention_tile_scores_step.wgsl" with { type: "text" };
import attention_tile_stage from "./attention_tile_stage.wgsl" with { type: "text" };
import attention_tile_sum from "./attention_tile_sum.wgsl" with { type: "text" };
import attention_tile_sum_step from "./attention_tile_sum_step.wgsl" with { type: "text" };
import attention_tile_walked from "./attention_tile_walked.wgsl" with { type: "text" };
import column_sum_bindings from "./column_sum_bindings.wgsl" with { type: "text" };
import counted from "./counted.wgsl" with { type: "text" };
import gemm_bindings from "./gemm_bindings.wgsl" with { type: "text" };
import gemm_matrix_put from "./gemm_matrix_put.wgsl" with { type: "text" };
import gemm_start from "./gemm_start.wgsl" with { type: "text" };
import gemm_start_vector from "./gemm_start_vector.wgsl" with { type: "text" };
import gemm_write from "./gemm_write.wgsl" with { type: "text" };
import gemm_write_vector from "./gemm_write_vector.wgsl" with { type: "text" };
import gradient_norm_lanes from "./gradient_norm_lanes.wgsl" with { type: "text" };
import half_of from "./half_of.wgsl" with { type: "text" };
import halves_read from "./halves_read.wgsl" with { type: "text" };
import logit_order from "./logit_order.wgsl" with { type: "text" };
import philox from "./philox.wgsl" with { type: "text" };
import rounded_halves from "./rounded_halves.wgsl" with { type: "text" };
import sample_filters from "./sample_filters.wgsl" with { type: "text" };
import silu from "./silu.wgsl" with { type: "text" };
import softmax_block from "./softmax_block.wgsl" with { type: "text" };
import softmax_join from "./softmax_join.wgsl" with { type: "text" };
import softmax_statistics from "./softmax_statistics.wgsl" with { type: "text" };
import stored_vectors from "./stored_vectors.wgsl" with { type: "text" };
import written_halves from "./written_halves.wgsl" with { type: "text" };
import written_pairs from "./written_pairs.wgsl" with { type: "text" };
import written_vectors from "./written_vectors.wgsl" with { type: "text" };

/** What kernels share, by the name that `//#include` gives it. */
const parts: Parts = {
  advance_slot,
  attention_backward_bindings,
  attention_bindings,
  attention_broadcast_lane,
  attention_decode_scores,
  attention_inputs,
  attention_key_row,
  attention_query_head,
  attention_query_heads,
  attention_tile,
  attention_tile_columns,
  attention_tile_give,
  attention_tile_keys,
  attention_tile_lane,
  attention_tile_put,
  attention_tile_scores,
  attention_tile_scores_step,
  attention_tile_stage,
  attention_tile_sum,
  attention_tile_sum_step,
  attention_tile_walked,
  column_sum_bindings,
  counted,
  gemm_bindings,
  gemm_matrix_put,
  gemm_start,
  gemm_start_vector,
  gemm_write,
  gemm_write_vector,
  gradient_norm_lanes,
  half_of,
  halves_read,
  logit_order,
  philox,
  rounded_halves,
  sample_filters,
  silu,
  softmax_block,
  softmax_join,
  softmax_statistics,
  stored_vectors,
  written_halves,
  written_pairs,
  written_vectors,
};

/** A kernel's text with the parts it includes. */
export function compose(text: string): string {
  return includeParts(text, parts);
}
