import type { StoredType } from "../../kernels/parts/stored_type.ts";
import type { HeadsPlace } from "./value_heads.ts";

/** A tensor of a weight file. */
export interface StoredTensor {
  readonly type: StoredType;
  /** Outermost dimension first. */
  readonly shape: readonly number[];
  /** D when the rows of each head are interleaved as llama.cpp stores them; see `PackedPiece`. Else 0. */
  readonly interleavedHead: number;
  /** The file has 1 added to its numbers. */
  readonly hasOneAdded?: boolean;
  /** The file has −exp of its numbers. */
  readonly isNegatedPower?: boolean;
  /** The value heads of a DeltaNet, where its columns lie in another order than the model's. */
  readonly columnHeads?: HeadsPlace;
  /** Names the file in messages. */
  readonly file: string;
}

/** The tensors of a model's files, read by ranges so that they never lie in host memory as a whole. */
export interface WeightFile extends Disposable {
  /** Names the whole in messages. */
  readonly path: string;
  /** By Hugging Face name. */
  readonly tensors: ReadonlyMap<string, StoredTensor>;
  /**
   * Bytes of a tensor.
   *
   * @param begin first byte, counted in the tensor
   * @throws UserError when the file ends early or cannot be read
   */
  read(name: string, begin: number, bytes: number): Uint8Array<ArrayBuffer>;
}
