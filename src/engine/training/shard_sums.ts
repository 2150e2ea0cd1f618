import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { add } from "../../kernels/add.ts";
import type { ShardRange, ShardSum } from "./reducer.ts";

/**
 * Where the parts [first, end) divide in the tree of their sum: after the largest power of two that leaves
 * something, so that every process that computes a whole subtree makes the same sum of it.
 */
export function middleOf({ first, end }: ShardRange): number {
  return first + 2 ** (Math.ceil(Math.log2(end - first)) - 1);
}

/** Sums kept beside the gradients while the parts of `sumShards` are computed by one process. */
export function keptSums(shards: number): number {
  return Math.floor(Math.log2(shards));
}

/**
 * Computes some parts of a batch one after another and adds them up as a fixed binary tree over all parts
 * has it: the sum of a range is that of its two halves (`middleOf`), float32, element by element. A sum whose
 * other half is still to come waits in a copy, of which there are at most log2(shards).
 *
 * @param gradients receive one part after another
 * @param own the parts to compute
 * @param compute makes `gradients` hold a part's gradient, whatever they held before
 * @returns the sums of the largest subtrees within `own`; the last lies in `gradients`, the others are the
 *   caller's to release
 */
export async function sumShards(
  gpu: Gpu,
  gradients: readonly Tensor[],
  shards: number,
  own: ShardRange,
  compute: (shard: number) => Promise<void>,
): Promise<ShardSum[]> {
  const copies = new Set<readonly Tensor[]>();
  const keep = (sum: ShardSum): ShardSum => {
    if (sum.gradients !== gradients) return sum;
    const copy = copyOf(gpu, gradients, "sum of parts");
    copies.add(copy);
    return { ...sum, gradients: copy };
  };
  const visit = async (range: ShardRange): Promise<ShardSum[]> => {
    const { first, end } = range;
    if (end <= own.first || own.end <= first) return [];
    if (end - first === 1) {
      await compute(first);
      return [{ first, end, gradients }];
    }
    const middle = middleOf(range);
    const left = await visit({ first, end: middle });
    if (own.end <= middle) return left;
    const kept = left.map(keep);
    const right = await visit({ first: middle, end });
    if (first < own.first || own.end < end) return [...kept, ...right];
    const [{ gradients: copy }] = kept;
    addAll(gpu, copy, gradients);
    gpu.release(...copy);
    copies.delete(copy);
    return [{ first, end, gradients }];
  };
  try {
    return await visit({ first: 0, end: shards });
  } catch (error) {
    for (const copy of copies) gpu.release(...copy);
    throw error;
  }
}

/** Tensors that hold what these hold. */
export function copyOf(gpu: Gpu, tensors: readonly Tensor[], label: string): Tensor[] {
  return tensors.map((tensor) => {
    const copy = gpu.tensor(tensor.shape, tensor.dtype, label);
    gpu.copy(tensor, copy);
    return copy;
  });
}

/** targets += addends */
export function addAll(gpu: Gpu, addends: readonly Tensor[], targets: readonly Tensor[]): void {
  addends.forEach((addend, i) => add(gpu, addend, targets[i]));
}
