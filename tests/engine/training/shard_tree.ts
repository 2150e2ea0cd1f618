/** The fixed tree of a batch's shards, on the host: what the engine's sums are compared with. */

import type { ShardRange } from "../../../src/engine/training/reducer.ts";

/** A sum of neighbouring shards on the host. */
export interface HostSum extends ShardRange {
  readonly data: Float32Array;
}

/**
 * Adds up sums of neighbouring shards in float32 as pairs meet: 8 shards as ((0+1)+(2+3))+((4+5)+(6+7)), and
 * what is left over when their number is no power of two last, the shorter first.
 *
 * @param sums all shards, in ascending order, each a sum that the tree has
 */
export function addInTree(sums: readonly HostSum[]): Float32Array {
  const stack: HostSum[] = [];
  const join = () => {
    const [right, left] = [stack.pop() as HostSum, stack.pop() as HostSum];
    const data = left.data.map((value, i) => Math.fround(value + right.data[i]));
    stack.push({ first: left.first, end: right.end, data });
  };
  const size = (back: number) => {
    const sum = stack.at(-back);
    return sum ? sum.end - sum.first : NaN;
  };
  for (const sum of sums) {
    stack.push(sum);
    while (size(1) === size(2)) join();
  }
  while (stack.length > 1) join();
  return stack[0].data;
}

/** Several arrays one after another. */
export function flat(arrays: readonly ArrayLike<number>[]): Float32Array {
  return Float32Array.from(arrays.flatMap((array) => Array.from(array)));
}
