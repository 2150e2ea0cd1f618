import type { Gpu } from "../../gpu/gpu.ts";
import { bytesOf, type Tensor } from "../../gpu/tensor.ts";
import code from "./cache_copy.wgsl" with { type: "text" };
import { expectCache, expectShape } from "../parts/expect_shape.ts";

/**
 * Copies rows of a layer's cache to other rows of it: a sequence that begins as another does gets the keys
 * and values of its first tokens on a page of its own, or what a convolution keeps of them.
 *
 * @param cache cacheKeys and cacheValues [R, KV, D], or a convolution's inputs [R, C] and null; a row a multiple of 8
 *   bytes
 * @param pairs [P, 2] u32: (from row, to row); no row that is read is written, none is written twice,
 *   pairs out of range are skipped
 * @throws Error when a tensor's shape is not the documented one
 */
export function cacheCopy(
  gpu: Gpu,
  { cacheKeys, cacheValues }: { readonly cacheKeys: Tensor; readonly cacheValues: Tensor | null },
  pairs: Tensor,
): void {
  const operation = "cache copy";
  const [rows] = cacheKeys.shape;
  expectShape(operation, "pairs", pairs, [-1, 2], "u32");
  if (cacheValues) expectCache(operation, { cacheKeys, cacheValues }, [-1, -1, -1]);
  const words = cacheKeys.size / rows * bytesOf(cacheKeys.dtype) / 4;
  // A convolution's channels are a multiple of four: 8 bytes in 16 bits.
  const WORDS = words % 4 === 0 ? 4 : 2;
  if (words % WORDS !== 0) {
    throw new Error(`${operation}: a row has ${4 * words} bytes, expected a multiple of 8`);
  }
  const count = pairs.shape[0];
  const vectors = words / WORDS;
  gpu.dispatch(
    { label: "cache copy", code, defines: { WORDS, VALUES: cacheValues !== null } },
    { pairs: count, vectors, rows },
    { pairs, cacheKeys, ...(cacheValues ? { cacheValues } : {}) },
    gpu.grid(Math.ceil(count * vectors / 64)),
    { bytes: (cacheValues ? 16 : 8) * count * words },
  );
}
