import type { Gpu } from "../../gpu/gpu.ts";
import { pieceBytes } from "../../gpu/tensor_pieces.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { partialCount, partialElements } from "../../kernels/optimizer/gradient_norm.ts";

/** Neighbouring elements of one of several flat tensors, and which process looks after them. */
export interface Slice {
  /** Which of the tensors. */
  readonly tensor: number;
  /** The first element, a multiple of what the gradient norm sums at a time. */
  readonly first: number;
  readonly end: number;
  /** The rank of the process. */
  readonly owner: number;
}

/** Slices that each process has at least, where there are enough elements: so many that none has much more. */
const leastSlices = 4;

/**
 * Cuts flat tensors into slices that processes look after, dealt out in turn: the gradient of neighbouring
 * layers then leaves for all of them at once. A slice is small enough to be sent as one message. A process by
 * itself has every tensor in one slice.
 *
 * @param sizes elements of each tensor
 */
export function cutIntoSlices(sizes: readonly number[], owners: number): Slice[] {
  const slices: Slice[] = [];
  const length = owners === 1 ? Infinity : sliceElements(sizes, owners);
  sizes.forEach((size, tensor) => {
    for (let first = 0; first < size; first += length) {
      const end = Math.min(first + length, size);
      slices.push({ tensor, first, end, owner: slices.length % owners });
    }
  });
  return slices;
}

function sliceElements(sizes: readonly number[], owners: number): number {
  const partials = sizes.reduce((sum, size) => sum + partialCount(size), 0);
  const even = Math.floor(partials / (leastSlices * owners));
  const most = pieceBytes / 4 / partialElements;
  return Math.max(1, Math.min(even, most)) * partialElements;
}

/** A round of an exchange: one slice of each owner; undefined for those that have no more. */
export type SliceRound = readonly (Slice | undefined)[];

/** The first slice of each owner, then the second of each, and so on. */
export function sliceRounds(slices: readonly Slice[], owners: number): SliceRound[] {
  const of = Array.from({ length: owners }, (_, owner) => slices.filter((s) => s.owner === owner));
  const rounds = Math.max(0, ...of.map(({ length }) => length));
  return Array.from({ length: rounds }, (_, round) => of.map((own) => own[round]));
}

/** The elements of a slice, a view on its tensor. */
export function sliceOf(tensors: readonly Tensor[], { tensor, first, end }: Slice): Tensor {
  return tensors[tensor].view(first, [end - first]);
}

/** The exchange between processes that share a model's slices. What one of them calls, all of them call. */
export interface SliceExchange {
  /** Number of this process among them, from 0. */
  readonly rank: number;
  readonly size: number;

  /**
   * Brings together what each process has.
   *
   * @param perProcess the bytes of each process, of lengths that all know; those of the others are overwritten
   */
  gather(perProcess: readonly Uint8Array[]): Promise<void>;

  /** Makes `tensors` hold on every process what each slice's owner has in it. */
  gatherSlices(gpu: Gpu, tensors: readonly Tensor[], slices: readonly Slice[]): Promise<void>;

  /**
   * Brings bytes of one process to the first one; these two call it.
   *
   * @param bytes on the first process overwritten
   * @param owner whose they are, not the first
   */
  bringToFirst(bytes: Uint8Array, owner: number): Promise<void>;
}
