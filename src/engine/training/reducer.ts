import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import type { SliceExchange } from "../../model/decoder/slices.ts";
import type { WholeGradients } from "./whole_gradients.ts";

/** Neighbouring shards of a batch, `first` up to but without `end`. */
export interface ShardRange {
  readonly first: number;
  readonly end: number;
}

/** The gradient of neighbouring shards, summed in the order of the tree; see `middleOf` in `shard_sums.ts`. */
export interface ShardSum extends ShardRange {
  readonly gradients: readonly Tensor[];
}

/**
 * The processes that train a model together, each with some shards of every batch (`ownShards`). What one of
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
   * Computes this process's shards of a batch, and makes `gradients` hold the sum of all shards, over the tree of
   * `middleOf`, in the slices that this process owns. The other slices hold nothing in particular then. What is
   * whole leaves the GPU while the last backward pass is still at the rest.
   *
   * When it fails on one process it fails on all, as `together` does.
   *
   * @param whole told by `compute` of the sums of this process's own shards, in ascending order, of which the last one
   *   comes to lie in `gradients`, and of how far its last pass is; all sums are used up
   */
  reduce(
    gpu: Gpu,
    gradients: readonly Tensor[],
    shards: number,
    whole: WholeGradients,
    compute: () => Promise<void>,
  ): Promise<void>;
}

/** One process computes all shards, and has nothing left to add. */
export const oneReducer: Reducer = {
  rank: 0,
  size: 1,
  together: (task) => task(),
  gather: () => Promise.resolve(),
  reduce: (_gpu, _gradients, _shards, _whole, compute) => compute(),
  gatherSlices: () => Promise.resolve(),
  bringToFirst: () => Promise.resolve(),
};
