import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { independentLanes } from "../../gpu/tuning.ts";
import { expectShape } from "../parts/expect_shape.ts";
import countCode from "./count_pairs.wgsl" with { type: "text" };
import code from "./group_pairs.wgsl" with { type: "text" };

/** The pairs of T tokens and their k experts each, those of one expert of E side by side, by ascending token. */
export interface Grouping {
  /** u32 [E + 1]: the places of expert e are those from offsets[e] on, before offsets[e + 1] */
  readonly offsets: Tensor;
  /** u32 [T · k]: the pair (token · k + choice) at each place */
  readonly list: Tensor;
  /** u32 [T · k]: the place of each pair */
  readonly places: Tensor;
  /** k, experts of a token */
  readonly chosen: number;
}

/**
 * Groups pairs by expert. The order depends on what was chosen alone.
 *
 * @param experts u32 [T, k], each below `count`
 * @param count E
 * @throws Error when the shape does not fit
 */
export function groupPairs(gpu: Gpu, experts: Tensor, count: number): Grouping {
  const operation = "group pairs";
  const [tokens, chosen] = experts.shape;
  expectShape(operation, "experts", experts, [tokens, chosen], "u32");
  const pairs = tokens * chosen;
  const offsets = gpu.tensor([count + 1], "u32", "expert offsets");
  const list = gpu.tensor([pairs], "u32", "expert pairs");
  const places = gpu.tensor([pairs], "u32", "pair places");
  const LANES = independentLanes(gpu.tuning);
  gpu.dispatch(
    { label: operation, code, defines: { LANES } },
    { pairs, experts: count },
    { chosen: experts, offsets, list, places },
    [Math.ceil((count + 1) / LANES)],
    { bytes: 4 * pairs * (count / LANES + 2) },
  );
  return { offsets, list, places, chosen };
}

/**
 * counts[e] += the tokens that expert e was sent.
 *
 * @param counts u32 [E]
 * @throws Error when the shape does not fit
 */
export function countPairs(gpu: Gpu, { offsets }: Grouping, counts: Tensor): void {
  const operation = "count pairs";
  const [experts] = counts.shape;
  expectShape(operation, "counts", counts, [experts], "u32");
  expectShape(operation, "offsets", offsets, [experts + 1], "u32");
  const LANES = independentLanes(gpu.tuning);
  gpu.dispatch(
    { label: operation, code: countCode, defines: { LANES } },
    { experts },
    { offsets, counts },
    [Math.ceil(experts / LANES)],
  );
}
