import type { Tensor } from "../../gpu/tensor.ts";

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
 * Brings together the gradients of the processes that share a batch. It stands between the last backward
 * pass and the gradient norm, so that norm, clipping and update are computed from the whole.
 */
export interface Reducer {
  /** The parts that this process computes, when a batch has so many; no process may be without any. */
  own(shards: number): ShardRange;
  /**
   * Makes `gradients` hold the sum of all parts of the batch, in the order of `sumShards`' tree.
   *
   * @param sums of this process's own parts, in ascending order; the last one lies in `gradients`
   */
  reduce(
    sums: readonly ShardSum[],
    gradients: readonly Tensor[],
    shards: number,
  ): Promise<void>;
}

/** One process computes all parts, and has nothing left to add. */
export const alone: Reducer = {
  own: (shards) => ({ first: 0, end: shards }),
  reduce: () => Promise.resolve(),
};
