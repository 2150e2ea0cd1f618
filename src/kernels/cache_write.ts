import type { Gpu } from "../gpu/gpu.ts";
import type { Tensor } from "../gpu/tensor.ts";
import code from "./cache_write.wgsl" with { type: "text" };
import { expectShape, expectVectors } from "./expect_shape.ts";

/**
 * Copies keys and values of packed tokens into rows of a layer's cache. After a prompt was prefilled
 * once, this gives it to every response of its group.
 *
 * @param packed keys and values [T, KV, D], KV · D a multiple of 4
 * @param pairs [P, 2] u32: (token, cache row); no cache row twice, pairs out of range are skipped
 * @param cache cacheKeys and cacheValues [R, KV, D]
 * @throws Error when a tensor's shape is not the documented one
 */
export function cacheWrite(
  gpu: Gpu,
  { keys, values }: { readonly keys: Tensor; readonly values: Tensor },
  pairs: Tensor,
  { cacheKeys, cacheValues }: { readonly cacheKeys: Tensor; readonly cacheValues: Tensor },
): void {
  const operation = "cache write";
  const [tokens, kvHeads, headDim] = keys.shape;
  const [cacheRows] = cacheKeys.shape;
  expectShape(operation, "keys", keys, [tokens, kvHeads, headDim]);
  expectShape(operation, "values", values, [tokens, kvHeads, headDim]);
  expectShape(operation, "pairs", pairs, [-1, 2], "u32");
  expectShape(operation, "cacheKeys", cacheKeys, [cacheRows, kvHeads, headDim]);
  expectShape(operation, "cacheValues", cacheValues, [cacheRows, kvHeads, headDim]);
  expectVectors(operation, "a row of keys", kvHeads * headDim);
  const count = pairs.shape[0];
  const vectors = kvHeads * headDim / 4;
  gpu.dispatch(
    { label: "cache write", code },
    { pairs: count, vectors, tokens, cacheRows },
    { keys, values, pairs, cacheKeys, cacheValues },
    gpu.grid(Math.ceil(count * vectors / 64)),
    { bytes: 64 * count * vectors },
  );
}
