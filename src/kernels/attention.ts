import type { Gpu } from "../gpu/gpu.ts";
import type { Tensor } from "../gpu/tensor.ts";
import {
  attentionBlock,
  type AttentionShape,
  expectAttentionShape,
  log2e,
  pageTokens,
  type RowSharing,
  rowSharing,
} from "./attention_shape.ts";
import forwardCode from "./attention.wgsl" with { type: "text" };
import backwardKeysCode from "./attention_backward_keys.wgsl" with { type: "text" };
import backwardQueriesCode from "./attention_backward_queries.wgsl" with { type: "text" };
import { expectShape } from "./expect_shape.ts";

/** Rows a backward walk takes at a time. */
const backwardBlock = 8;

/** T packed tokens of sequences, one after the other. */
export interface AttentionInputs {
  /** [T, H, D], rotated. */
  readonly queries: Tensor;
  /** [T, KV, D], rotated. */
  readonly keys: Tensor;
  /** [T, KV, D] */
  readonly values: Tensor;
  /** [T, 4] u32 of `attentionSegments` */
  readonly segments: Tensor;
  /** Rows that all tokens together attend to; only the launch's cost is told by it. */
  readonly attendedRows: number;
}

/** What the forward pass fills. */
export interface AttentionOutputs {
  /** [T, H, D] */
  readonly output: Tensor;
  /** [T, H], ln Σ exp(scale · q · k) of each query, kept for the backward pass. */
  readonly logSumExp: Tensor;
}

/** What the backward pass fills; nothing is added to. */
export interface AttentionGradients {
  /** [T, H, D] */
  readonly dQueries: Tensor;
  /** [T, KV, D] */
  readonly dKeys: Tensor;
  /** [T, KV, D] */
  readonly dValues: Tensor;
}

/**
 * The tiles of a launch and the kernel's defines. `block` is the number of rows a walk takes at a time: part
 * of the sum's order in the forward pass, free in the backward passes, whose sums run on across blocks.
 */
function tiling(gpu: Gpu, sharing: RowSharing, tokens: number, headDim: number, block: number) {
  const share = sharing === "subgroup";
  const lanes = share ? 8 : 32;
  const defines = {
    D: headDim,
    BLOCK: block,
    LANES: lanes,
    SHARE: share,
    WIDTH: share ? 8 : 1,
    // A CPU's driver would compile longer ones for minutes.
    UNROLL: gpu.tuning.lanes === "gpu" || headDim <= 16,
    PAGED: false,
    PAGE: pageTokens,
  };
  return { defines, tiles: Math.ceil(tokens / lanes) };
}

function expectInputs(operation: string, inputs: AttentionInputs, shape: AttentionShape): number {
  expectAttentionShape(operation, shape);
  const { heads, kvHeads, headDim } = shape;
  const [tokens] = inputs.queries.shape;
  expectShape(operation, "queries", inputs.queries, [tokens, heads, headDim]);
  expectShape(operation, "keys", inputs.keys, [tokens, kvHeads, headDim]);
  expectShape(operation, "values", inputs.values, [tokens, kvHeads, headDim]);
  expectShape(operation, "segments", inputs.segments, [tokens, 4], "u32");
  return tokens;
}

/**
 * Causal attention with grouped key/value heads over packed sequences. A token's bits depend on its own
 * sequence alone, and `attentionDecode` repeats them.
 *
 * @throws Error when a tensor's shape is not the documented one
 */
export function attentionForward(
  gpu: Gpu,
  inputs: AttentionInputs,
  { output, logSumExp }: AttentionOutputs,
  shape: AttentionShape,
  sharing = rowSharing(gpu),
): void {
  const { heads, kvHeads, headDim, scale } = shape;
  const tokens = expectInputs("attention", inputs, shape);
  expectShape("attention", "output", output, [tokens, heads, headDim]);
  expectShape("attention", "logSumExp", logSumExp, [tokens, heads]);
  const { queries, keys, values, segments } = inputs;
  const { defines, tiles } = tiling(gpu, sharing, tokens, headDim, attentionBlock);
  gpu.dispatch(
    { label: "attention", code: forwardCode, defines },
    { tokens, heads, kvHeads, scale: scale * log2e, chunks: headDim / 4 },
    { queries, keys, values, segments, output, logSumExp },
    [tiles, heads],
    costOf(inputs, shape, 2),
  );
}

/** The cost of a walk that takes so many products of head size of each query with each row. */
function costOf(
  { queries, attendedRows }: Pick<AttentionInputs, "queries" | "attendedRows">,
  shape: AttentionShape,
  products: number,
) {
  const flops = 2 * products * attendedRows * shape.heads * shape.headDim;
  return { bytes: 4 * queries.bytes, flops };
}

/** T new tokens of sequences, one after the other, and the cache of one layer. */
export interface PagedAttentionInputs {
  /** [T, H, D], rotated. */
  readonly queries: Tensor;
  /** [pages · pageTokens, KV, D], rotated; the new tokens' own keys and values must be there already. */
  readonly cacheKeys: Tensor;
  /** [pages · pageTokens, KV, D] */
  readonly cacheValues: Tensor;
  /** [T, 4] u32 of `pagedSegments` */
  readonly segments: Tensor;
  /** u32 [N]: cache pages of the sequences in the order of their tokens. */
  readonly pageTable: Tensor;
  /** Rows that all tokens together attend to; only the launch's cost is told by it. */
  readonly attendedRows: number;
}

/**
 * Causal attention of new tokens over the paged cache: the bits that `attentionForward` gives them in
 * the whole sequence.
 *
 * @param output [T, H, D]
 * @throws Error when a tensor's shape is not the documented one
 */
export function attentionPaged(
  gpu: Gpu,
  { queries, cacheKeys, cacheValues, segments, pageTable, attendedRows }: PagedAttentionInputs,
  output: Tensor,
  shape: AttentionShape,
  sharing = rowSharing(gpu),
): void {
  const operation = "attention paged";
  const { heads, kvHeads, headDim, scale } = shape;
  expectAttentionShape(operation, shape);
  const [tokens] = queries.shape;
  const [rows] = cacheKeys.shape;
  expectShape(operation, "queries", queries, [tokens, heads, headDim]);
  expectShape(operation, "cacheKeys", cacheKeys, [rows, kvHeads, headDim]);
  expectShape(operation, "cacheValues", cacheValues, [rows, kvHeads, headDim]);
  expectShape(operation, "segments", segments, [tokens, 4], "u32");
  expectShape(operation, "pageTable", pageTable, [-1], "u32");
  expectShape(operation, "output", output, [tokens, heads, headDim]);
  const { defines, tiles } = tiling(gpu, sharing, tokens, headDim, attentionBlock);
  gpu.dispatch(
    { label: operation, code: forwardCode, defines: { ...defines, PAGED: true } },
    { tokens, heads, kvHeads, scale: scale * log2e, chunks: headDim / 4 },
    { queries, keys: cacheKeys, values: cacheValues, segments, pageTable, output },
    [tiles, heads],
    costOf({ queries, attendedRows }, shape, 2),
  );
}

/**
 * The gradients of `attentionForward`, every sum in an order of its own group of sequences alone.
 *
 * @param inputs what the forward pass read and filled, with `outputGradient` [T, H, D]
 * @throws Error when a tensor's shape is not the documented one
 */
export function attentionBackward(
  gpu: Gpu,
  inputs: AttentionInputs & AttentionOutputs & {
    readonly outputGradient: Tensor;
  },
  { dQueries, dKeys, dValues }: AttentionGradients,
  shape: AttentionShape,
  sharing = rowSharing(gpu),
): void {
  const { heads, kvHeads, headDim, scale } = shape;
  const tokens = expectInputs("attention backward", inputs, shape);
  const { queries, keys, values, segments } = inputs;
  const { output, logSumExp, outputGradient } = inputs;
  expectShape("attention backward", "output", output, [tokens, heads, headDim]);
  expectShape("attention backward", "logSumExp", logSumExp, [tokens, heads]);
  expectShape("attention backward", "outputGradient", outputGradient, [tokens, heads, headDim]);
  expectShape("attention backward", "dQueries", dQueries, [tokens, heads, headDim]);
  expectShape("attention backward", "dKeys", dKeys, [tokens, kvHeads, headDim]);
  expectShape("attention backward", "dValues", dValues, [tokens, kvHeads, headDim]);
  const { defines, tiles } = tiling(gpu, sharing, tokens, headDim, backwardBlock);
  const parameters = {
    tokens,
    heads,
    kvHeads,
    scale,
    scaleLog2e: scale * log2e,
    chunks: headDim / 4,
  };
  gpu.scope(() => {
    const delta = gpu.tensor([tokens, heads], "f32", "attention delta");
    gpu.dispatch(
      { label: "attention backward queries", code: backwardQueriesCode, defines },
      parameters,
      {
        queries,
        keys,
        values,
        output,
        outputGradient,
        logSumExp,
        segments,
        dQueries,
        delta,
      },
      [tiles, heads],
      costOf(inputs, shape, 3),
    );
    gpu.dispatch(
      { label: "attention backward keys", code: backwardKeysCode, defines },
      parameters,
      {
        queries,
        keys,
        values,
        outputGradient,
        logSumExp,
        delta,
        segments,
        dKeys,
        dValues,
      },
      [tiles, kvHeads],
      costOf(inputs, shape, 4),
    );
  });
}
