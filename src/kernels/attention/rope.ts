import type { Gpu } from "../../gpu/gpu.ts";
import { bytesOf, type CacheDtype, type Tensor } from "../../gpu/tensor.ts";
import { independentLanes } from "../../gpu/tuning.ts";
import { columnSum } from "../layers/column_sum.ts";
import { expectShape } from "../parts/expect_shape.ts";
import forwardText from "./rope.wgsl" with { type: "text" };
import backwardText from "./rope_backward.wgsl" with { type: "text" };
import headSumCode from "./head_sum.wgsl" with { type: "text" };
import { compose } from "../parts/compose.ts";

const forwardCode = compose(forwardText);
const backwardCode = compose(backwardText);

/** The per-head RMSNorm of queries and keys before the rotation (Qwen3, Gemma 3). */
export interface HeadNorm {
  /** [D] weight of every query head. */
  readonly queryNorm: Tensor;
  /** [D] weight of every key head. */
  readonly keyNorm: Tensor;
  readonly epsilon: number;
  /** 1 + weight multiplies, not the weight alone (Gemma). */
  readonly fromOne?: boolean;
}

/** What forward and backward must agree on. */
export interface RopeOptions {
  /** H, query heads. */
  readonly heads: number;
  /** KV, key/value heads. */
  readonly kvHeads: number;
  /** D, elements of one head, a multiple of 8. */
  readonly headDim: number;
  /** R, the elements at a head's front that are rotated, a multiple of 8; D by default. */
  readonly rotated?: number;
  /** [P, D/2, 2] from `ropeTable`; every position must be below P. */
  readonly table: Tensor;
  /** Absent in models without QK-norm. */
  readonly norm?: HeadNorm;
}

function expectOptions(
  operation: string,
  qkv: Tensor,
  positions: Tensor,
  { heads, kvHeads, headDim, rotated = headDim, table, norm }: RopeOptions,
  keyRowsAt?: number,
): number {
  if (headDim < 8 || headDim % 8 !== 0) {
    throw new Error(`${operation}: head size ${headDim}, expected a multiple of 8`);
  }
  if (rotated < 0 || rotated > headDim || rotated % 8 !== 0) {
    throw new Error(
      `${operation}: ${rotated} of ${headDim} elements are rotated, expected a multiple of 8`,
    );
  }
  const [tokens] = qkv.shape;
  expectShape(operation, "qkv", qkv, [tokens, (heads + 2 * kvHeads) * headDim]);
  const words = keyRowsAt === undefined ? tokens : keyRowsAt + tokens;
  expectShape(operation, "positions", positions, [words], "u32");
  expectShape(operation, "table", table, [-1, headDim / 2, 2]);
  if (norm) {
    expectShape(operation, "queryNorm", norm.queryNorm, [headDim]);
    expectShape(operation, "keyNorm", norm.keyNorm, [headDim]);
  }
  return tokens;
}

/**
 * A workgroup has 64 lanes; a lane takes a whole head where there is a norm, else four pairs.
 *
 * @param rows heads of all tokens
 */
function grid(gpu: Gpu, rows: number, { headDim, norm }: RopeOptions) {
  return gpu.grid(Math.ceil(rows * (norm ? 1 : headDim / 8) / 64));
}

/**
 * Splits q, k and v, normalises (when asked) and rotates q and k by position.
 *
 * @param qkv [T, (H + 2 KV) · D]: each row its query heads, key heads, value heads
 * @param positions [T] u32, position of each token in its sequence; [keyRowsAt + T] with `keyRowsAt`
 * @param outputs queries [T, H, D]; keys and values [R, KV, D] in `cacheDtype`, or in f32 as training takes them;
 *   R = T without `keyRowsAt`
 * @param cacheDtype what keys and values are rounded to, to nearest even; f16 makes those beyond 65504 NaN
 * @param keyRowsAt where in `positions` T further words begin: the row of keys and values each token fills, such as a
 *   row of the KV cache; a number of R or more (0xffffffff) writes nothing
 * @throws Error when a tensor's shape is not the documented one
 */
export function ropeForward(
  gpu: Gpu,
  qkv: Tensor,
  positions: Tensor,
  { queries, keys, values }: {
    readonly queries: Tensor;
    readonly keys: Tensor;
    readonly values: Tensor;
  },
  options: RopeOptions & { readonly keyRowsAt?: number; readonly cacheDtype: CacheDtype },
): void {
  const { heads, kvHeads, headDim, rotated = headDim, table, norm, keyRowsAt, cacheDtype } =
    options;
  const tokens = expectOptions("rope", qkv, positions, options, keyRowsAt);
  const rows = keyRowsAt === undefined ? tokens : keys.shape[0];
  expectShape("rope", "queries", queries, [tokens, heads, headDim]);
  const stored = keys.dtype === "f32" ? "f32" : cacheDtype;
  expectShape("rope", "keys", keys, [rows, kvHeads, headDim], stored);
  expectShape("rope", "values", values, [rows, kvHeads, headDim], stored);
  const defines = {
    NORM: norm !== undefined,
    FROM_ONE: norm?.fromOne === true,
    ROWS: keyRowsAt !== undefined,
    CACHE: cacheDtype,
    PACKED: stored !== "f32",
  };
  gpu.dispatch(
    { label: "rope", code: forwardCode, defines },
    {
      tokens,
      heads,
      kvHeads,
      maxPositions: table.shape[0],
      keyRows: rows,
      epsilon: norm?.epsilon ?? 0,
      chunks: headDim / 4,
      keyRowsAt: keyRowsAt ?? 0,
      turned: rotated / 8,
    },
    {
      qkv,
      positions,
      table,
      queries,
      keys,
      values,
      ...(norm ? { queryNorm: norm.queryNorm, keyNorm: norm.keyNorm } : {}),
    },
    grid(gpu, tokens * (heads + 2 * kvHeads), options),
    { bytes: qkv.bytes + tokens * (4 * heads + 2 * bytesOf(stored) * kvHeads) * headDim },
  );
}

/**
 * The gradients of `ropeForward`, in place.
 *
 * @param qkv [T, (H + 2 KV) · D], what the forward pass read
 * @param dQkv [T, (H + 2 KV) · D]: the gradients of rotated queries and keys and of values, which become that of `qkv`
 * @param normGradients gradients [D] of the norm's weights, added to with tokens in ascending order;
 *   null when they are not trained
 * @throws Error when a tensor's shape is not the documented one
 */
export function ropeBackward(
  gpu: Gpu,
  qkv: Tensor,
  positions: Tensor,
  dQkv: Tensor,
  normGradients: { readonly queryNorm: Tensor; readonly keyNorm: Tensor } | null,
  options: RopeOptions,
): void {
  const { heads, kvHeads, headDim, rotated = headDim, table, norm } = options;
  const operation = "rope backward";
  const tokens = expectOptions(operation, qkv, positions, options);
  expectShape(operation, "dQkv", dQkv, qkv.shape);
  if (normGradients && !norm) throw new Error(`${operation}: norm gradients without a norm`);
  gpu.scope(() => {
    const termsShape = [tokens, heads + kvHeads, headDim];
    const terms = norm ? gpu.tensor(termsShape, "f32", "norm terms") : null;
    gpu.dispatch(
      {
        label: operation,
        code: backwardCode,
        defines: { NORM: norm !== undefined, FROM_ONE: norm?.fromOne === true },
      },
      {
        tokens,
        heads,
        kvHeads,
        maxPositions: table.shape[0],
        epsilon: norm?.epsilon ?? 0,
        chunks: headDim / 4,
        turned: rotated / 8,
      },
      {
        dQkv,
        positions,
        table,
        ...(norm && terms ? { qkv, queryNorm: norm.queryNorm, keyNorm: norm.keyNorm, terms } : {}),
      },
      grid(gpu, tokens * (heads + kvHeads), options),
      // Read and written once; with norms what they go by is read twice, and terms are written, read and written.
      { bytes: 4 * (norm ? 9 : 2) * tokens * (heads + kvHeads) * headDim },
    );
    if (!normGradients || !terms) return;
    const stride = (heads + kvHeads) * headDim / 4;
    const WORKGROUP = independentLanes(gpu.tuning);
    const add = (gradient: Tensor, HEADS: number, first: number) => {
      expectShape(operation, "norm gradient", gradient, [headDim]);
      const sums = gpu.tensor([tokens, headDim], "f32", "norm term sums");
      gpu.dispatch(
        { label: "rope norm sums", code: headSumCode, defines: { HEADS, WORKGROUP } },
        { tokens, stride, first, chunks: headDim / 4 },
        { terms, sums },
        gpu.grid(Math.ceil(tokens * headDim / 4 / WORKGROUP)),
      );
      columnSum(gpu, "rope norm gradient", sums, gradient, null);
    };
    add(normGradients.queryNorm, heads, 0);
    add(normGradients.keyNorm, kvHeads, heads * headDim / 4);
  });
}
