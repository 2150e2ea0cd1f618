/** Norms of all queries of a token together, and of all its keys, before they are rotated (OLMoE). */

import type { Tensor } from "../../gpu/tensor.ts";
import { joinQkv, type QueriesAndKeys, splitQkv } from "../../kernels/attention/qkv_parts.ts";
import { rmsnormBackward } from "../../kernels/layers/rmsnorm.ts";
import { normedRows } from "./branch.ts";
import type { Layer, Model } from "./model.ts";
import type { Parameter } from "./parameters.ts";

/** What was normed. T tokens. */
export interface WholeNorms extends QueriesAndKeys {
  /** [T] */
  readonly queryRstd: Tensor;
  /** [T] */
  readonly keyRstd: Tensor;
}

/** Tensors of the norms, which a scope keeps. */
export const normTensors = ({ queries, keys, queryRstd, keyRstd }: WholeNorms): Tensor[] => [
  ...[queries, keys],
  ...[queryRstd, keyRstd],
];

function weightsOf({ queryNorm, keyNorm }: Layer): readonly [Parameter, Parameter] {
  if (!queryNorm || !keyNorm) throw new Error("a layer without norms of queries and keys");
  return [queryNorm, keyNorm];
}

function emptyParts({ gpu, config }: Model, tokens: number): QueriesAndKeys {
  const { heads, kvHeads, headDim } = config;
  return {
    queries: gpu.tensor([tokens, heads * headDim], "f32", "all queries"),
    keys: gpu.tensor([tokens, kvHeads * headDim], "f32", "all keys"),
  };
}

/**
 * @param qkv [T, (H + 2·KV)·D]
 * @returns the same with queries and keys normed, and what their gradient needs
 */
export function wholeNormed(
  model: Model,
  layer: Layer,
  qkv: Tensor,
): { readonly qkv: Tensor; readonly norms: WholeNorms } {
  const { gpu } = model;
  const parts = emptyParts(model, qkv.shape[0]);
  splitQkv(gpu, qkv, parts);
  const [queryNorm, keyNorm] = weightsOf(layer);
  const queries = normedRows(model, parts.queries, queryNorm);
  const keys = normedRows(model, parts.keys, keyNorm);
  const joined = gpu.tensor(qkv.shape, "f32", "normed qkv");
  joinQkv(gpu, qkv, { queries: queries.y, keys: keys.y }, joined);
  gpu.release(queries.y, keys.y);
  return { qkv: joined, norms: { ...parts, queryRstd: queries.rstd, keyRstd: keys.rstd } };
}

/**
 * The gradients of `wholeNormed`: those of the weights are added to.
 *
 * @param dQkv [T, (H + 2·KV)·D] of the normed ones
 * @returns of those before
 */
export function wholeNormBackward(
  model: Model,
  layer: Layer,
  { queries, keys, queryRstd, keyRstd }: WholeNorms,
  dQkv: Tensor,
): Tensor {
  const { gpu, config } = model;
  const joined = gpu.tensor(dQkv.shape, "f32", "qkv gradient");
  gpu.scope(() => {
    const [tokens] = dQkv.shape;
    const dNormed = emptyParts(model, tokens), dParts = emptyParts(model, tokens);
    splitQkv(gpu, dQkv, dNormed);
    const [queryNorm, keyNorm] = weightsOf(layer);
    const back = (x: Tensor, rstd: Tensor, norm: Parameter, dy: Tensor, dx: Tensor) =>
      rmsnormBackward(gpu, {
        ...{ x, rstd, dy, dx, weight: norm.weight, upstream: null },
        weightGradient: norm.gradient,
      }, config.norms);
    back(queries, queryRstd, queryNorm, dNormed.queries, dParts.queries);
    back(keys, keyRstd, keyNorm, dNormed.keys, dParts.keys);
    joinQkv(gpu, dQkv, dParts, joined);
  });
  return joined;
}
