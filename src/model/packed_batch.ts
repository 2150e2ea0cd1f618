import type { Gpu } from "../gpu/gpu.ts";
import type { Tensor } from "../gpu/tensor.ts";

/**
 * Several sequences laid one after another, so that no token of padding is computed. T tokens in all.
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
  /** [T] index of the first token of each token's sequence */
  readonly sequenceStart: Tensor;
  /** [T] one past the index of the last token of each token's sequence */
  readonly sequenceEnd: Tensor;
  /** [S + 1] index of each sequence's first token, and T */
  readonly cuSeqlens: Uint32Array;
}

/** Packs sequences in the order given. None may be empty. */
export function packSequences(gpu: Gpu, sequences: readonly ArrayLike<number>[]): PackedBatch {
  const size = sequences.reduce((sum, sequence) => sum + sequence.length, 0);
  const tokenIds = new Uint32Array(size);
  const positions = new Uint32Array(size);
  const starts = new Uint32Array(size);
  const ends = new Uint32Array(size);
  const cuSeqlens = new Uint32Array(sequences.length + 1);
  let at = 0;
  sequences.forEach((sequence, s) => {
    if (sequence.length === 0) throw new Error(`sequence ${s} of the batch is empty`);
    tokenIds.set(sequence, at);
    for (let i = 0; i < sequence.length; i++) positions[at + i] = i;
    starts.fill(at, at, at + sequence.length);
    ends.fill(at + sequence.length, at, at + sequence.length);
    at += sequence.length;
    cuSeqlens[s + 1] = at;
  });
  return {
    size,
    tokenIds,
    tokens: gpu.from(tokenIds, [size], "u32", "tokens"),
    positions: gpu.from(positions, [size], "u32", "positions"),
    sequenceStart: gpu.from(starts, [size], "u32", "sequence start"),
    sequenceEnd: gpu.from(ends, [size], "u32", "sequence end"),
    cuSeqlens,
  };
}
