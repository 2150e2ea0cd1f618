import type { Gpu } from "../../src/gpu/gpu.ts";
import { type PackedBatch, packPrefixGroups } from "../../src/model/decoder/packed_batch.ts";

/** Packs whole sequences in the order given. None may be empty. */
export function packSequences(gpu: Gpu, sequences: readonly ArrayLike<number>[]): PackedBatch {
  return packPrefixGroups(
    gpu,
    sequences.map((sequence) => ({ prefix: [], continuations: [sequence] })),
  );
}
