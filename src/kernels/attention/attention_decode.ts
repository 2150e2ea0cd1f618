import type { Gpu } from "../../gpu/gpu.ts";
import type { LaunchCost } from "../../gpu/recording/submit_pacing.ts";
import { bytesOf, type CacheDtype, cacheDtypes, type Tensor } from "../../gpu/tensor.ts";
import { broadcastLanes } from "../../gpu/tuning.ts";
import type { Variant, VariedOperation } from "../../gpu/variants.ts";
import decodeText from "./attention_decode.wgsl" with { type: "text" };
import joinText from "./attention_decode_join.wgsl" with { type: "text" };
import workgroupText from "./attention_decode_workgroup.wgsl" with { type: "text" };
import {
  attentionBlock,
  type AttentionShape,
  expectAttentionShape,
  log2e,
  pageTokens,
  scoringOf,
} from "./attention_shape.ts";
import { expectCache, expectShape } from "../parts/expect_shape.ts";
import { composeAttention } from "./parts/compose.ts";

const decodeCode = composeAttention(decodeText);
const workgroupCode = composeAttention(workgroupText);
const joinCode = composeAttention(joinText);

/** One token of every slot, and the cache of one layer. */
export interface DecodeInputs {
  /** [S, H, D], rotated; S slots. */
  readonly queries: Tensor;
  /** [pages · pageTokens, KV, D] in f32, f16 or bf16, rotated. */
  readonly cacheKeys: Tensor;
  /** [pages · pageTokens, KV, D] */
  readonly cacheValues: Tensor;
  /** [S, P] u32: the pages of each slot in the order of its tokens. */
  readonly pageTable: Tensor;
  /** [S] u32: keys of each slot with the current token's, at most P · pageTokens; 0 = slot not in use. */
  readonly lengths: Tensor;
}

/** Query heads of one key/value head that a workgroup takes at once: the sums of more leave no registers. */
const mostHeads = 8;

/**
 * How the walk over a slot's keys is split; the bits are the same:
 *
 * - `subgroup`: eight lanes for up to eight heads of one key/value head, for drivers whose lanes are SIMD lanes of a CPU core
 * - `subgroup of 4`: four lanes, where subgroups have no more
 * - `workgroup`: 128 lanes for the same, for hardware
 * - `spans`: as many for every 128 keys, and a second launch that joins their blocks, for hardware whose cores the
 *   slots alone do not fill
 */
export type DecodeSplit = "subgroup" | "subgroup of 4" | "workgroup" | "spans";

/** Vectors of a query that are walked in one go: a CPU's driver compiles longer ones for minutes. */
const mostUnrolled: Readonly<Record<CacheDtype, number>> = { f32: 16, f16: 4, bf16: 16 };

/** Lanes of a workgroup on hardware, and keys of a span. */
const spanKeys = 128;

/** A launch of fewer workgroups leaves cores of a GPU idle, or with nothing to do while they wait for memory. */
const fillingWorkgroups = 512;

/** Most bytes that spans leave for the join. */
const mostSpanBytes = 64 * 2 ** 20;

/** Attention of one new token of every slot. */
export interface DecodeShape extends Omit<AttentionShape, "scale"> {
  readonly slots: number;
  /** Most pages of a slot. */
  readonly maxPages: number;
  readonly cacheDtype: CacheDtype;
}

/** A way to split the walk over a slot's keys. */
export interface DecodeVariant extends Variant {
  readonly name: DecodeSplit;
}

const [subgroup, subgroupOf4, workgroup, spans] =
  (["subgroup", "subgroup of 4", "workgroup", "spans"] as const).map((
    name,
  ): DecodeVariant => ({ name }));

/** Made once: one is asked for with every launch. */
const bySubgroup = { 8: [subgroup], 4: [subgroupOf4] } as const;
const byWorkgroup = [workgroup] as const;
const workgroupFirst = [workgroup, spans] as const;
const spansFirst = [spans, workgroup] as const;

/** By slots, keys and heads; made once, too. */
const classNames = new Map<number, string>();

/** Two numbers of about the same size have the same. */
const sizeClass = (size: number) => Math.ceil(Math.log2(size) / 2);

/** The ways to split the walk over the keys in decoding. */
export const decodeOperation: VariedOperation<DecodeShape, DecodeVariant> = {
  name: "attention decode",
  classOf({ heads, kvHeads, headDim, slots, maxPages, cacheDtype }) {
    const sizes = 32 * sizeClass(slots) + sizeClass(maxPages);
    const ofHeads = (heads * 4096 + kvHeads) * 4096 + headDim;
    const key = (ofHeads * 1024 + sizes) * 4 + cacheDtypes.indexOf(cacheDtype);
    let name = classNames.get(key);
    if (!name) {
      const most = (size: number) => 4 ** sizeClass(size);
      name = `head size ${headDim}, ${heads} of ${kvHeads}, up to ${most(slots)} sequences, ` +
        `up to ${pageTokens * most(maxPages)} keys` +
        (cacheDtype === "f32" ? "" : ` in ${cacheDtype}`);
      classNames.set(key, name);
    }
    return name;
  },
  variantsFor(tuning, { heads, kvHeads, headDim, slots, maxPages }) {
    const lanes = broadcastLanes(tuning);
    if (lanes) return bySubgroup[lanes];
    const keys = maxPages * pageTokens;
    const spanBytes = slots * keys / attentionBlock * heads * (headDim + 2) * 4;
    if (keys <= spanKeys || spanBytes > mostSpanBytes) return byWorkgroup;
    return slots * kvHeads >= fillingWorkgroups ? workgroupFirst : spansFirst;
  },
  flops: ({ heads, headDim, slots, maxPages }) =>
    4 * slots * maxPages * pageTokens * heads * headDim,
};

/** WGSL texts of all variants of decoding. */
export const decodeTexts: readonly string[] = [decodeCode, workgroupCode, joinCode];

/** The split that runs. P: pages of a slot at most. */
export function decodeSplit(
  gpu: Gpu,
  { heads, kvHeads, headDim }: AttentionShape,
  [slots, maxPages]: readonly number[],
): DecodeSplit {
  return gpu.choices.of(decodeOperation, {
    ...{ heads, kvHeads, headDim, slots, maxPages },
    cacheDtype: gpu.cacheDtype,
  }).name;
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
  split = decodeSplit(gpu, shape, pageTable.shape),
): void {
  const { heads, kvHeads, headDim } = shape;
  const operation = "attention decode";
  expectAttentionShape(operation, shape);
  const [slots] = queries.shape;
  const [rows] = cacheKeys.shape;
  expectShape(operation, "queries", queries, [slots, heads, headDim]);
  const STORAGE = expectCache(operation, { cacheKeys, cacheValues }, [rows, kvHeads, headDim]);
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
  const { defines: scoring, parameters: ofScoring } = scoringOf(shape);
  const common = {
    D: headDim,
    BLOCK: attentionBlock,
    PAGE: pageTokens,
    ...scoring,
  };
  const walk = { ...common, STORAGE };
  const chunks = headDim / 4;
  // How many keys a slot has is known to the GPU alone: a page each at least.
  const cost: LaunchCost = {
    kind: "attention",
    bytes: 2 * slots * (4 * heads + bytesOf(STORAGE) * kvHeads * pageTokens) * headDim,
  };
  const group = heads / kvHeads;
  // Each key and value is loaded once for all of them: loads are what this costs.
  const headsAtOnce = Math.ceil(group / Math.ceil(group / mostHeads));
  const shares = Math.ceil(group / headsAtOnce);
  if (split === "subgroup" || split === "subgroup of 4") {
    const LANES = split === "subgroup" ? 8 : 4;
    const ROUNDS = Math.ceil(headDim / 2 / LANES);
    const SHARES = chunks <= mostUnrolled[STORAGE] ? Math.ceil(chunks / LANES) : 0;
    gpu.dispatch(
      {
        label: operation,
        code: decodeCode,
        defines: { ...walk, LANES, HEADS: headsAtOnce, ROUNDS, SHARES },
      },
      { heads, kvHeads, maxPages, scale, chunks, rounds: ROUNDS, ...ofScoring },
      { queries, cacheKeys, cacheValues, pageTable, lengths, output },
      [slots, kvHeads, shares],
      cost,
    );
    return;
  }
  const splits = split === "spans";
  const workgroup = workgroupDefines(gpu, headsAtOnce, headDim);
  const defines = { ...walk, SPLIT: splits, ...workgroup };
  const launch = { label: operation, code: workgroupCode, defines };
  const steps = chunks / workgroup.SLAB;
  const parameters = { heads, kvHeads, maxPages, scale, steps, ...ofScoring };
  const read = { queries, cacheKeys, cacheValues, pageTable, lengths };
  if (!splits) {
    gpu.dispatch(launch, parameters, { ...read, output }, [slots, kvHeads * shares], cost);
    return;
  }
  gpu.scope(() => {
    const blocks = slots * maxPages * pageTokens / attentionBlock;
    const blockOutputs = gpu.tensor([blocks, heads, headDim], "f32", "attention decode blocks");
    const blockSums = gpu.tensor([blocks, heads, 2], "f32", "attention decode block sums");
    const spans = Math.ceil(maxPages * pageTokens / spanKeys);
    const bindings = { ...read, blockOutputs, blockSums };
    gpu.dispatch(launch, parameters, bindings, [slots, kvHeads * shares, spans], cost);
    const HEADS = Math.max(1, Math.floor(64 / chunks));
    gpu.dispatch(
      { label: "attention decode join", code: joinCode, defines: { ...common, HEADS, AHEAD: 8 } },
      { heads, maxPages, ...scoringOf({ window: shape.window }).parameters },
      { blockOutputs, blockSums, lengths, output },
      [slots, Math.ceil(heads / HEADS)],
      { kind: "attention", bytes: 8 * slots * heads * headDim },
    );
  });
}

/** The defines of the kernel for hardware besides those of all. */
function workgroupDefines(gpu: Gpu, GROUP: number, headDim: number) {
  const chunks = headDim / 4;
  const SLAB = chunks % 4 === 0 ? 4 : 1;
  const blocks = spanKeys / attentionBlock;
  // Workgroup memory of the heads, and of each block's scores, rows, sums and outputs of HEADS heads.
  const bytes = (HEADS: number) =>
    4 * GROUP * (headDim + blocks * (attentionBlock + 6)) + 4 * spanKeys + 16 * HEADS * spanKeys;
  const HEADS = bytes(4) <= gpu.tuning.limits.workgroupBytes ? Math.min(4, GROUP) : 1;
  return {
    LANES: spanKeys,
    GROUP,
    SLAB,
    PARTS: Math.min(blocks, Math.floor(spanKeys / chunks)),
    HEADS,
    BATCHES: Math.ceil(GROUP / HEADS),
    ROUNDS: Math.ceil(HEADS * chunks / spanKeys),
  };
}
