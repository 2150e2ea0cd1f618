import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { compose } from "../parts/compose.ts";
import { expectShape } from "../parts/expect_shape.ts";
import text from "./gated_qkv.wgsl" with { type: "text" };

const code = compose(text);

/** The heads of an attention whose queries have gates behind them. */
interface Heads {
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
}

/**
 * Takes queries, keys and values out of rows in which a gate stands behind each query (Qwen3.5).
 *
 * @param projected [T, (2·H + 2·KV)·D]
 * @param qkv [T, (H + 2·KV)·D]
 * @throws Error when the shapes do not fit
 */
export function qkvOfGated(gpu: Gpu, projected: Tensor, heads: Heads, qkv: Tensor): void {
  launch(gpu, "qkv of gated", projected, heads, qkv, false);
}

/**
 * Puts them there again, and leaves the gates as they are.
 *
 * @param projected [T, (2·H + 2·KV)·D]
 * @param qkv [T, (H + 2·KV)·D]
 * @throws Error when the shapes do not fit
 */
export function qkvToGated(gpu: Gpu, projected: Tensor, heads: Heads, qkv: Tensor): void {
  launch(gpu, "qkv to gated", projected, heads, qkv, true);
}

function launch(
  gpu: Gpu,
  label: string,
  projected: Tensor,
  { heads, kvHeads, headDim }: Heads,
  qkv: Tensor,
  JOIN: boolean,
): void {
  const [tokens] = projected.shape;
  const width = (heads + 2 * kvHeads) * headDim;
  expectShape(label, "projected", projected, [tokens, width + heads * headDim]);
  expectShape(label, "qkv", qkv, [tokens, width]);
  gpu.dispatch(
    { label, code, defines: { JOIN } },
    { tokens, vectors: width / 4, queries: heads * headDim / 4, head: headDim / 4 },
    { projected, qkv },
    gpu.grid(Math.ceil(qkv.size / 4 / 64)),
    { bytes: 2 * qkv.bytes },
  );
}
