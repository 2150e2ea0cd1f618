import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import {
  attendedRows,
  attentionSegments,
  packedTokens,
  type PrefixGroupLengths,
} from "../../kernels/attention/attention_segments.ts";

/**
 * Several sequences laid one after another, so that no token of padding is computed, and what some of
 * them begin with in common is computed once. T tokens in all.
 */
export interface PackedBatch {
  /** T */
  readonly size: number;
  /** Host copy of `tokens`. */
  readonly tokenIds: Uint32Array;
  /** [T] */
  readonly tokens: Tensor;
  /** [T] position of each token in its sequence */
  readonly positions: Tensor;
  /** Tokens of the groups, in the order given. */
  readonly lengths: readonly PrefixGroupLengths[];
  /** [T, 4] which rows each token attends to; see `attentionSegments` */
  readonly segments: Tensor;
  /** Rows that all tokens together attend to. */
  readonly attendedRows: number;
  /** Tokens of the longest sequence. */
  readonly longest: number;
  /** End of each sequence's rows, exclusive, in the order given. */
  readonly sequenceEnds: readonly number[];
}

/** Sequences that begin with the same tokens. */
export interface PrefixGroup {
  readonly prefix: ArrayLike<number>;
  /** Tokens that follow the prefix in each sequence; none may be empty. */
  readonly continuations: readonly ArrayLike<number>[];
}

/** Packs groups in the order given: a group's prefix, then its continuations. */
export function packPrefixGroups(gpu: Gpu, groups: readonly PrefixGroup[]): PackedBatch {
  const lengths = groups.map(({ prefix, continuations }) => ({
    prefix: prefix.length,
    continuations: continuations.map(({ length }) => length),
  }));
  const size = lengths.reduce((sum, group) => sum + packedTokens(group), 0);
  const tokenIds = new Uint32Array(size);
  const positions = new Uint32Array(size);
  const sequenceEnds: number[] = [];
  let at = 0;
  const append = (tokens: ArrayLike<number>, firstPosition: number) => {
    tokenIds.set(tokens, at);
    for (let i = 0; i < tokens.length; i++) positions[at + i] = firstPosition + i;
    at += tokens.length;
  };
  for (const { prefix, continuations } of groups) {
    append(prefix, 0);
    for (const continuation of continuations) {
      if (continuation.length === 0) {
        throw new Error(`sequence ${sequenceEnds.length} of the batch is empty`);
      }
      append(continuation, prefix.length);
      sequenceEnds.push(at);
    }
  }
  return {
    size,
    tokenIds,
    tokens: gpu.from(tokenIds, [size], "u32", "tokens"),
    positions: gpu.from(positions, [size], "u32", "positions"),
    lengths,
    segments: gpu.from(attentionSegments(lengths), [size, 4], "u32", "segments"),
    attendedRows: attendedRows(lengths),
    longest: positions.reduce((most, position) => Math.max(most, position + 1), 0),
    sequenceEnds,
  };
}
