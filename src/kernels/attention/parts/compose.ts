import { compose } from "../../parts/compose.ts";
import type { Parts } from "../../../gpu/wgsl.ts";
import attention_backward_bindings from "./attention_backward_bindings.wgsl" with { type: "text" };
import attention_bindings from "./attention_bindings.wgsl" with { type: "text" };
import attention_broadcast_lane from "./attention_broadcast_lane.wgsl" with { type: "text" };
import attention_decode_scores from "./attention_decode_scores.wgsl" with { type: "text" };
import attention_inputs from "./attention_inputs.wgsl" with { type: "text" };
import attention_key_row from "./attention_key_row.wgsl" with { type: "text" };
import attention_query_head from "./attention_query_head.wgsl" with { type: "text" };
import attention_query_heads from "./attention_query_heads.wgsl" with { type: "text" };
import attention_skipped from "./attention_skipped.wgsl" with { type: "text" };
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
import attention_walked from "./attention_walked.wgsl" with { type: "text" };
import attention_walked_row from "./attention_walked_row.wgsl" with { type: "text" };
import attention_window from "./attention_window.wgsl" with { type: "text" };
import attention_window_start from "./attention_window_start.wgsl" with { type: "text" };
import counted from "./counted.wgsl" with { type: "text" };
import softmax_block from "./softmax_block.wgsl" with { type: "text" };
import softmax_join from "./softmax_join.wgsl" with { type: "text" };

const own: Parts = {
  attention_backward_bindings,
  attention_bindings,
  attention_broadcast_lane,
  attention_decode_scores,
  attention_inputs,
  attention_key_row,
  attention_query_head,
  attention_query_heads,
  attention_skipped,
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
  attention_walked,
  attention_walked_row,
  attention_window,
  attention_window_start,
  counted,
  softmax_block,
  softmax_join,
};

/**
 * A kernel of attention with the parts it includes.
 *
 * @param others parts that are not attention's
 */
export function composeAttention(text: string, others: Parts = {}): string {
  return compose(text, { ...own, ...others });
}
