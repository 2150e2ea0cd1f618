import { includeParts, type Parts } from "../../gpu/wgsl.ts";
import capped from "./capped.wgsl" with { type: "text" };
import f16_parts from "./f16_parts.wgsl" with { type: "text" };
import half_of from "./half_of.wgsl" with { type: "text" };
import halves_read from "./halves_read.wgsl" with { type: "text" };
import rounded_halves from "./rounded_halves.wgsl" with { type: "text" };
import scale_of_largest from "./scale_of_largest.wgsl" with { type: "text" };
import silu from "./silu.wgsl" with { type: "text" };
import softmax_statistics from "./softmax_statistics.wgsl" with { type: "text" };
import stored_vectors from "./stored_vectors.wgsl" with { type: "text" };
import written_halves from "./written_halves.wgsl" with { type: "text" };
import written_pairs from "./written_pairs.wgsl" with { type: "text" };
import written_vectors from "./written_vectors.wgsl" with { type: "text" };

/** WGSL parts that kernels of several rooms share, by their name in `//#include`. */
const shared: Parts = {
  capped,
  f16_parts,
  half_of,
  halves_read,
  rounded_halves,
  scale_of_largest,
  silu,
  softmax_statistics,
  stored_vectors,
  written_halves,
  written_pairs,
  written_vectors,
};

/**
 * A kernel's text with the parts it includes.
 *
 * @param own parts of the kernel's room
 */
export function compose(text: string, own: Parts = {}): string {
  return includeParts(text, { ...shared, ...own });
}
