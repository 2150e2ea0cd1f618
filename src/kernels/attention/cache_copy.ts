import type { Gpu } from "../../gpu/gpu.ts";
import { bytesOf, type Tensor } from "../../gpu/tensor.ts";
import code from "./cache_copy.wgsl" with { type: "text" };
import { expectCache, expectShape, expectVectors } from "../parts/expect_shape.ts";

/**
 * Copies rows of a layer's cache to other rows of it: a sequence that begins as another does gets the keys
 * and values of its first tokens on a page of its own.
 *
 * @param cache cacheKeys and cacheValues [R, KV, D], a row of keys a multiple of 16 bytes
 * @param pairs [P, 2] u32: (from row, to row); no row that is read is written, none is written twice,
 *   pairs out of range are skipped
 * @throws Error when a tensor's shape is not the documented one
 */
export function cacheCopy(
  gpu: Gpu,
  { cacheKeys, cacheValues }: { readonly cacheKeys: Tensor; readonly cacheValues: Tensor },
  pairs: Tensor,
): void {
  const operation = "cache copy";
  const [rows, kvHeads, headDim] = cacheKeys.shape;
  expectShape(operation, "pairs", pairs, [-1, 2], "u32");
  const dtype = expectCache(operation, { cacheKeys, cacheValues }, [-1, -1, -1]);
  const words = kvHeads * headDim * bytesOf(dtype) / 4;
  expectVectors(operation, "a row of keys in 32-bit words", words);
  const count = pairs.shape[0];
  const vectors = words / 4;
  gpu.dispatch(
    { label: "cache copy", code },
    { pairs: count, vectors, rows },
    { pairs, cacheKeys, cacheValues },
    gpu.grid(Math.ceil(count * vectors / 64)),
    { bytes: 64 * count * vectors },
  );
}
