import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { add } from "../../kernels/products/add.ts";
import type { ShardRange, ShardSum } from "./reducer.ts";

/**
 * Where the shards [first, end) divide in the tree of their sum: after the largest power of two that leaves
 * something, so that every process that computes a whole range of the tree makes the same sum of it.
 */
export function middleOf({ first, end }: ShardRange): number {
  return first + 2 ** (Math.ceil(Math.log2(end - first)) - 1);
}

/** The largest ranges of the tree that lie within a process's own shards, in ascending order. */
export function wholeRanges(shards: number, own: ShardRange): ShardRange[] {
  const visit = (range: ShardRange): ShardRange[] => {
    const { first, end } = range;
    if (end <= own.first || own.end <= first) return [];
    if (own.first <= first && end <= own.end) return [range];
    const middle = middleOf(range);
    return [...visit({ first, end: middle }), ...visit({ first: middle, end })];
  };
  return visit({ first: 0, end: shards });
}

/**
 * Joins the sums of ranges that make up all shards, two at a time, as the tree has them.
 *
 * @param join makes the sum of two halves
 */
export function joinShardSums<Sum extends ShardRange>(
  shards: number,
  sums: readonly Sum[],
  join: (left: Sum, right: Sum) => Sum,
): Sum {
  const visit = (range: ShardRange): Sum => {
    const { first, end } = range;
    const sum = sums.find((sum) => sum.first === first && sum.end === end);
    if (sum) return sum;
    if (end - first <= 1) throw new Error(`the sum of shard ${first} of ${shards} is missing`);
    const middle = middleOf(range);
    return join(visit({ first, end: middle }), visit({ first: middle, end }));
  };
  return visit({ first: 0, end: shards });
}

/** Sums kept beside the gradients while one process computes some of all shards; see `sumEarlierShards`. */
export function keptSums(shards: number, own: ShardRange): number {
  const ranges = wholeRanges(shards, own);
  // While a range is computed, the sums of those before it wait, and of its own shards one sum for each power of two.
  const kept = ranges.map(({ first, end }, before) => before + Math.floor(Math.log2(end - first)));
  return Math.max(...kept);
}

/** Sums of a process's own shards but for the last shard; the tensors are the caller's to release. */
export interface EarlierShards {
  /**
   * The sums of `wholeRanges`, in ascending order. The last one lies in the gradients once the last shard's gradient is
   * there and the addends were added to it.
   */
  readonly sums: readonly ShardSum[];
  /** Sums to add to the last shard's gradient, in this order. */
  readonly addends: readonly (readonly Tensor[])[];
}

/**
 * Computes a process's own shards of a batch but the last one, one after another, and adds them up as a fixed binary
 * tree over all shards has it: the sum of a range is that of its two halves (`middleOf`), float32, element by element.
 * A sum whose other half is still to come waits in a copy, of which there are at most log2(shards).
 *
 * @param gradients receive one shard after another
 * @param own the shards to compute
 * @param compute makes `gradients` hold a shard's gradient, whatever they held before
 */
export async function sumEarlierShards(
  gpu: Gpu,
  gradients: readonly Tensor[],
  shards: number,
  own: ShardRange,
  compute: (shard: number) => Promise<void>,
): Promise<EarlierShards> {
  const addends: (readonly Tensor[])[] = [];
  const copies = new Set<readonly Tensor[]>();
  const keep = (sum: ShardSum): ShardSum => {
    if (sum.gradients !== gradients) return sum;
    const copy = copyOf(gpu, gradients, "sum of shards");
    copies.add(copy);
    return { ...sum, gradients: copy };
  };
  const visit = async (range: ShardRange): Promise<ShardSum[]> => {
    const { first, end } = range;
    if (end <= own.first || own.end <= first) return [];
    if (end - first === 1) {
      if (end < own.end) await compute(first);
      return [{ first, end, gradients }];
    }
    const middle = middleOf(range);
    const left = await visit({ first, end: middle });
    if (own.end <= middle) return left;
    const kept = left.map(keep);
    const right = await visit({ first: middle, end });
    if (first < own.first || own.end < end) return [...kept, ...right];
    const [{ gradients: copy }] = kept;
    if (end === own.end) addends.push(copy);
    else {
      addAll(gpu, copy, gradients);
      gpu.release(...copy);
      copies.delete(copy);
    }
    return [{ first, end, gradients }];
  };
  try {
    return { sums: await visit({ first: 0, end: shards }), addends };
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
