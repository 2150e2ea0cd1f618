import type { Gpu } from "../gpu/gpu.ts";
import type { Tensor } from "../gpu/tensor.ts";
import decodeText from "./attention_decode.wgsl" with { type: "text" };
import splitCode from "./attention_decode_split.wgsl" with { type: "text" };
import {
  attentionBlock,
  type AttentionShape,
  attentionVariant,
  expectAttentionShape,
  log2e,
  pageTokens,
} from "./attention_shape.ts";
import { expectShape } from "./expect_shape.ts";
import { compose } from "./parts/compose.ts";

const decodeCode = compose(decodeText);

/** One token of every slot, and the cache of one layer. */
export interface DecodeInputs {
  /** [S, H, D], rotated; S slots. */
  readonly queries: Tensor;
  /** [pages · pageTokens, KV, D], rotated. */
  readonly cacheKeys: Tensor;
  /** [pages · pageTokens, KV, D] */
  readonly cacheValues: Tensor;
  /** [S, P] u32: the pages of each slot in the order of its tokens. */
  readonly pageTable: Tensor;
  /** [S] u32: keys of each slot with the current token's, at most P · pageTokens; 0 = slot not in use. */
  readonly lengths: Tensor;
}

/** Query heads that a subgroup takes at once: the sums of more leave no registers. */
const mostHeads = 8;

/**
 * Who walks a slot's keys: `subgroup`, eight lanes for some heads of one key/value head, for drivers whose
 * lanes are SIMD lanes of a CPU core; `workgroup`, 128 lanes for the same, for hardware. The same bits.
 */
export type DecodeSplit = "subgroup" | "workgroup";

/** The split that suits the device. */
export function decodeSplit(gpu: Gpu): DecodeSplit {
  return attentionVariant(gpu) === "broadcast" ? "subgroup" : "workgroup";
}

/**
 * Attention of one new token of every slot over the paged cache: the bits `attentionForward` gives
 * that token. The current token's key and value must already be in the cache; slots of length 0
 * receive zeros.
 *
 * @param output [S, H, D]
 * @throws Error when a tensor's shape is not the documented one
 */
export function attentionDecode(
  gpu: Gpu,
  { queries, cacheKeys, cacheValues, pageTable, lengths }: DecodeInputs,
  output: Tensor,
  shape: AttentionShape,
  split = decodeSplit(gpu),
): void {
  const { heads, kvHeads, headDim } = shape;
  const operation = "attention decode";
  expectAttentionShape(operation, shape);
  const [slots] = queries.shape;
  const [rows] = cacheKeys.shape;
  expectShape(operation, "queries", queries, [slots, heads, headDim]);
  expectShape(operation, "cacheKeys", cacheKeys, [rows, kvHeads, headDim]);
  expectShape(operation, "cacheValues", cacheValues, [rows, kvHeads, headDim]);
  expectShape(operation, "pageTable", pageTable, [slots, -1], "u32");
  expectShape(operation, "lengths", lengths, [slots], "u32");
  expectShape(operation, "output", output, [slots, heads, headDim]);
  if (rows % pageTokens !== 0) {
    throw new Error(
      `${operation}: cacheKeys has ${rows} rows, expected a multiple of ${pageTokens}`,
    );
  }
  const maxPages = pageTable.shape[1];
  const scale = shape.scale * log2e;
  const tensors = { queries, cacheKeys, cacheValues, pageTable, lengths, output };
  const common = {
    D: headDim,
    BLOCK: attentionBlock,
    PAGE: pageTokens,
  };
  const chunks = headDim / 4;
  // How many keys a slot has is known to the GPU alone: a page each at least.
  const cost = { bytes: 8 * slots * (heads + kvHeads * pageTokens) * headDim };
  if (split === "subgroup") {
    const group = heads / kvHeads;
    const OCTETS = Math.ceil(headDim / 8);
    // Each key and value is loaded once for all of them: loads are what this costs.
    const HEADS = Math.ceil(group / Math.ceil(group / mostHeads));
    gpu.dispatch(
      { label: operation, code: decodeCode, defines: { ...common, HEADS, OCTETS } },
      { heads, kvHeads, maxPages, scale, chunks, octets: OCTETS },
      tensors,
      [slots, kvHeads, Math.ceil(group / HEADS)],
      cost,
    );
  } else {
    const LANES = 128;
    const GROUP = heads / kvHeads;
    const ROUNDS = Math.ceil(GROUP * headDim / 4 / LANES);
    gpu.dispatch(
      {
        label: "attention decode split",
        code: splitCode,
        defines: { ...common, LANES, GROUP, ROUNDS, UNROLL: gpu.tuning.lanes === "gpu" },
      },
      { kvHeads, maxPages, scale, chunks, block: attentionBlock },
      tensors,
      [slots, kvHeads],
      cost,
    );
  }
}
