import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import type { Slice, SliceExchange } from "../../model/decoder/slices.ts";

/** Parts of a batch, `first` up to but without `end`. */
export interface ShardRange {
  readonly first: number;
  readonly end: number;
}

/** The gradient of neighbouring parts, summed in the order of the tree; see `sumShards`. */
export interface ShardSum extends ShardRange {
  readonly gradients: readonly Tensor[];
}

/**
 * The processes that train a model together, each with some parts of every batch (`ownShards`). What one of
 * them calls, all of them call.
 */
export interface Reducer extends SliceExchange {
  /**
   * Does what each process does for itself. When it fails on one of them it fails on all, so that none goes on
   * with what another has not done.
   *
   * @throws what this process threw, or a Failure that says what another one did
   */
  together<Result>(task: () => Promise<Result>): Promise<Result>;

  /**
   * Makes `gradients` hold the sum of all parts of the batch, in the order of `sumShards`' tree, in the slices
   * that this process owns. The other slices hold nothing in particular then.
   *
   * @param sums of this process's own parts, in ascending order; the last one lies in `gradients`, and all are
   *   used up
   * @param slices of the gradients
   */
  reduce(
    gpu: Gpu,
    sums: readonly ShardSum[],
    gradients: readonly Tensor[],
    shards: number,
    slices: readonly Slice[],
  ): Promise<void>;
}

/** One process computes all parts, and has nothing left to add. */
export const alone: Reducer = {
  rank: 0,
  size: 1,
  together: (task) => task(),
  gather: () => Promise.resolve(),
  reduce: () => Promise.resolve(),
  gatherSlices: () => Promise.resolve(),
  bringToFirst: () => Promise.resolve(),
};
