import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { compose } from "../parts/compose.ts";
import { expectShape, expectVectors } from "../parts/expect_shape.ts";
import text from "./qkv_parts.wgsl" with { type: "text" };

const code = compose(text);

/** The queries and the keys of T tokens, those of a token side by side. */
export interface QueriesAndKeys {
  /** [T, H·D] */
  readonly queries: Tensor;
  /** [T, KV·D] */
  readonly keys: Tensor;
}

/**
 * Takes queries and keys out of the rows where their values lie too.
 *
 * @param qkv [T, (H + 2·KV)·D]
 * @throws Error when the shapes do not fit
 */
export function splitQkv(gpu: Gpu, qkv: Tensor, parts: QueriesAndKeys): void {
  launch(gpu, "split qkv", qkv, parts, null);
}

/**
 * Puts queries and keys beside the values of `qkv`.
 *
 * @param qkv [T, (H + 2·KV)·D]
 * @param joined like it
 * @throws Error when the shapes do not fit
 */
export function joinQkv(gpu: Gpu, qkv: Tensor, parts: QueriesAndKeys, joined: Tensor): void {
  launch(gpu, "join qkv", qkv, parts, joined);
}

function launch(
  gpu: Gpu,
  label: string,
  qkv: Tensor,
  { queries, keys }: QueriesAndKeys,
  joined: Tensor | null,
): void {
  const [tokens, all] = qkv.shape;
  const [, widthOfQueries] = queries.shape, [, widthOfKeys] = keys.shape;
  expectShape(label, "qkv", qkv, [tokens, widthOfQueries + 2 * widthOfKeys]);
  expectShape(label, "queries", queries, [tokens, widthOfQueries]);
  expectShape(label, "keys", keys, [tokens, widthOfKeys]);
  if (joined) expectShape(label, "joined", joined, qkv.shape);
  expectVectors(label, "a row of queries", widthOfQueries);
  expectVectors(label, "a row of keys", widthOfKeys);
  gpu.dispatch(
    { label, code, defines: { JOIN: joined !== null } },
    { tokens, queries: widthOfQueries / 4, keys: widthOfKeys / 4, all: all / 4 },
    { qkv, queries, keys, ...(joined ? { joined } : {}) },
    gpu.grid(Math.ceil(tokens * all / 4 / 64)),
    { bytes: 2 * qkv.bytes },
  );
}
