import type { Gpu } from "../../gpu/gpu.ts";
import type { Grid } from "../../gpu/grid.ts";
import type { LaunchCost } from "../../gpu/recording/submit_pacing.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import type { Defines } from "../../gpu/wgsl.ts";
import {
  attentionBlock,
  type AttentionShape,
  type AttentionVariant,
  attentionVariant,
  expectAttentionShape,
  log2e,
  pageTokens,
  scoringOf,
} from "./attention_shape.ts";
import { attentionTile } from "./attention_tile.ts";
import forwardText from "./attention.wgsl" with { type: "text" };
import backwardKeysText from "./attention_backward_keys.wgsl" with { type: "text" };
import backwardKeysTiledText from "./attention_backward_keys_tiled.wgsl" with { type: "text" };
import backwardQueriesText from "./attention_backward_queries.wgsl" with { type: "text" };
import backwardQueriesTiledText from "./attention_backward_queries_tiled.wgsl" with {
  type: "text",
};
import forwardTiledText from "./attention_tiled.wgsl" with { type: "text" };
import { expectCache, expectShape } from "../parts/expect_shape.ts";
import { composeAttention } from "./parts/compose.ts";

/** A kernel's texts by variant, whose rows its lanes own, and the most of them of a workgroup of the tiled one. */
interface AttentionKernel {
  readonly broadcast: string;
  readonly tiled: string;
  readonly owned: "queries" | "keys";
  readonly rows: 32 | 64;
  readonly isBackward: boolean;
}

const forward: AttentionKernel = {
  broadcast: composeAttention(forwardText),
  tiled: composeAttention(forwardTiledText),
  owned: "queries",
  rows: 64,
  isBackward: false,
};
const backwardQueries: AttentionKernel = {
  broadcast: composeAttention(backwardQueriesText),
  tiled: composeAttention(backwardQueriesTiledText),
  owned: "queries",
  rows: 64,
  isBackward: true,
};
// Two sums are kept of each row.
const backwardKeys: AttentionKernel = {
  broadcast: composeAttention(backwardKeysText),
  tiled: composeAttention(backwardKeysTiledText),
  owned: "keys",
  rows: 32,
  isBackward: true,
};

/**
 * Rows that a backward walk takes at a time, by broadcasts, and where all lanes load the same. Its sums run on across blocks,
 * so that no bits depend on it.
 */
const backwardBlock = { broadcast: 8, uniform: 4 };

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
  /** [2, T, H]: ln Σ exp(scale · q · k) of each query, and room for what the backward pass needs of each. */
  readonly statistics: Tensor;
}

/** The largest head size whose loops are unrolled: a CPU's driver would compile longer ones for minutes. */
const mostUnrolled = 16;
/**
 * The most rows that a lane owns, which share what it loads. An unrolled loop has room for a second one where all lanes
 * load the same rows, few at a time.
 */
const mostOwned = { queries: 4, keys: 2, unrolled: 1, uniform: 2 };

interface AttentionLaunch extends AttentionShape {
  readonly tokens: number;
}

/** The kernel of a launch and its workgroups. A lane that broadcasts owns several heads' queries of a token, or keys. */
function variantOf(
  gpu: Gpu,
  { broadcast, tiled, owned, rows, isBackward }: AttentionKernel,
  variant: AttentionVariant,
  { tokens, heads, kvHeads, headDim }: AttentionLaunch,
): { code: string; defines: Defines; grid: Grid } {
  const isOfKeys = owned === "keys";
  if (variant === "tiled") {
    const defines = attentionTile(gpu.tuning, headDim, rows);
    const grid: Grid = [Math.ceil(tokens / defines.ROWS), isOfKeys ? kvHeads : heads];
    return { code: tiled, defines, grid };
  }
  const UNROLL = headDim <= mostUnrolled;
  const LANES = variant === "broadcast" ? 8 : 4;
  // Mesa loads what all lanes have in common once. The forward pass has 16 rows at a time, too many for two heads.
  const UNIFORM = UNROLL && LANES === 8 && isBackward;
  const most = mostOwned[UNIFORM ? "uniform" : UNROLL ? "unrolled" : owned];
  const BLOCK = isBackward ? backwardBlock[UNIFORM ? "uniform" : "broadcast"] : attentionBlock;
  const common = {
    ...{ D: headDim, BLOCK, LANES, UNROLL, PAGE: pageTokens },
    ...(isBackward ? { UNIFORM, LOADS: UNIFORM ? BLOCK : BLOCK / LANES } : {}),
  };
  if (isOfKeys) {
    return {
      code: broadcast,
      defines: { ...common, KEYS: most },
      grid: [Math.ceil(tokens / (LANES * most)), kvHeads],
    };
  }
  const shares = Math.ceil(heads / kvHeads / most);
  return {
    code: broadcast,
    defines: { ...common, HEADS: Math.ceil(heads / kvHeads / shares) },
    grid: [Math.ceil(tokens / LANES), kvHeads, shares],
  };
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
  { output, statistics }: AttentionOutputs,
  shape: AttentionShape,
  variant = attentionVariant(gpu),
): void {
  const { heads, kvHeads, headDim, scale } = shape;
  const tokens = expectInputs("attention", inputs, shape);
  expectShape("attention", "output", output, [tokens, heads, headDim]);
  expectShape("attention", "statistics", statistics, [2, tokens, heads]);
  const { queries, keys, values, segments } = inputs;
  const launch = { tokens, ...shape };
  const { code, defines, grid } = variantOf(gpu, forward, variant, launch);
  const { defines: scoring, parameters } = scoringOf(shape);
  gpu.dispatch(
    { label: "attention", code, defines: { ...defines, ...scoring, PAGED: false, STORAGE: "f32" } },
    { tokens, heads, kvHeads, scale: scale * log2e, chunks: headDim / 4, ...parameters },
    { queries, keys, values, segments, output, logSumExp: statistics },
    grid,
    costOf(inputs, shape, 2),
  );
}

/** The cost of a walk that takes so many products of head size of each query with each row. */
function costOf(
  { queries, attendedRows }: Pick<AttentionInputs, "queries" | "attendedRows">,
  shape: AttentionShape,
  products: number,
): LaunchCost {
  const flops = 2 * products * attendedRows * shape.heads * shape.headDim;
  return { kind: "attention", bytes: 4 * queries.bytes, flops };
}

/** T new tokens of sequences, one after the other, and the cache of one layer. */
export interface PagedAttentionInputs {
  /** [T, H, D], rotated. */
  readonly queries: Tensor;
  /** [pages · pageTokens, KV, D] in f32, f16 or bf16, rotated; the new tokens' own keys and values must be there already. */
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
  variant = attentionVariant(gpu),
): void {
  const operation = "attention paged";
  const { heads, kvHeads, headDim, scale } = shape;
  expectAttentionShape(operation, shape);
  const [tokens] = queries.shape;
  const [rows] = cacheKeys.shape;
  expectShape(operation, "queries", queries, [tokens, heads, headDim]);
  const STORAGE = expectCache(operation, { cacheKeys, cacheValues }, [rows, kvHeads, headDim]);
  expectShape(operation, "segments", segments, [tokens, 4], "u32");
  expectShape(operation, "pageTable", pageTable, [-1], "u32");
  expectShape(operation, "output", output, [tokens, heads, headDim]);
  const launch = { tokens, ...shape };
  const { code, defines, grid } = variantOf(gpu, forward, variant, launch);
  const { defines: scoring, parameters } = scoringOf(shape);
  gpu.dispatch(
    { label: operation, code, defines: { ...defines, ...scoring, PAGED: true, STORAGE } },
    { tokens, heads, kvHeads, scale: scale * log2e, chunks: headDim / 4, ...parameters },
    { queries, keys: cacheKeys, values: cacheValues, segments, pageTable, output },
    grid,
    costOf({ queries, attendedRows }, shape, 2),
  );
}

/**
 * The gradients of `attentionForward`, every sum in an order of its own group of sequences alone.
 *
 * @param inputs what the forward pass read and filled, with `outputGradient` [T, H, D]; fills the second half of
 *   `statistics`
 * @param dQkv [T, (H + 2 KV) · D], filled: each row a token's query heads, key heads, value heads
 * @throws Error when a tensor's shape is not the documented one
 */
export function attentionBackward(
  gpu: Gpu,
  inputs: AttentionInputs & AttentionOutputs & {
    readonly outputGradient: Tensor;
  },
  dQkv: Tensor,
  shape: AttentionShape,
  variant = attentionVariant(gpu),
): void {
  const { heads, kvHeads, headDim, scale } = shape;
  const tokens = expectInputs("attention backward", inputs, shape);
  const { queries, keys, values, segments } = inputs;
  const { output, statistics, outputGradient } = inputs;
  expectShape("attention backward", "output", output, [tokens, heads, headDim]);
  expectShape("attention backward", "statistics", statistics, [2, tokens, heads]);
  expectShape("attention backward", "outputGradient", outputGradient, [tokens, heads, headDim]);
  expectShape("attention backward", "dQkv", dQkv, [tokens, (heads + 2 * kvHeads) * headDim]);
  const launch = { tokens, ...shape };
  const ofQueries = variantOf(gpu, backwardQueries, variant, launch);
  const ofKeys = variantOf(gpu, backwardKeys, variant, launch);
  const { defines: scoring, parameters: ofScoring } = scoringOf(shape);
  const parameters = {
    tokens,
    heads,
    kvHeads,
    scale,
    scaleLog2e: scale * log2e,
    chunks: headDim / 4,
    ...ofScoring,
  };
  const read = { queries, keys, values, segments, outputGradient };
  gpu.dispatch(
    {
      label: "attention backward queries",
      code: ofQueries.code,
      defines: { ...ofQueries.defines, ...scoring, PAGED: false, STORAGE: "f32" },
    },
    parameters,
    { ...read, output, statistics, dQkv },
    ofQueries.grid,
    costOf(inputs, shape, 3),
  );
  gpu.dispatch(
    {
      label: "attention backward keys",
      code: ofKeys.code,
      defines: { ...ofKeys.defines, ...scoring, STORAGE: "f32" },
    },
    parameters,
    { ...read, statistics, dQkv },
    ofKeys.grid,
    costOf(inputs, shape, 4),
  );
}
