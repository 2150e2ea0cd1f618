/** The fixed tree of a batch's parts, on the host: what the engine's sums are compared with. */

import type { Tensor } from "../../../src/gpu/tensor.ts";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import type { Reducer, ShardRange, ShardSum } from "../../../src/engine/training/reducer.ts";

/** A sum of neighbouring parts on the host. */
export interface HostSum extends ShardRange {
  readonly data: Float32Array;
}

/**
 * Adds up sums of neighbouring parts in float32 as pairs meet: 8 parts as ((0+1)+(2+3))+((4+5)+(6+7)), and
 * what is left over when their number is no power of two last, the shorter first.
 *
 * @param sums all parts, in ascending order, each a sum that the tree has
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

/** Processes of one test that share batches: each reduces when all have arrived. */
export class Meeting {
  #arrived: { sums: HostSum[]; receive: (total: Float32Array[]) => void }[] = [];

  /** @param ranges the parts of each process */
  constructor(private readonly gpu: Gpu, private readonly ranges: readonly ShardRange[]) {}

  /** The reducer of one of them. */
  reducer(rank: number): Reducer {
    return {
      own: () => this.ranges[rank],
      reduce: async (sums, gradients) => {
        const total = await this.#arrive(await this.#read(sums));
        let at = 0;
        for (const tensor of gradients) {
          this.gpu.write(tensor, total[0].subarray(at, at += tensor.size));
        }
      },
    };
  }

  async #read(sums: readonly ShardSum[]): Promise<HostSum[]> {
    const read: HostSum[] = [];
    for (const { first, end, gradients } of sums) {
      read.push({ first, end, data: flat(await this.gpu.readAll(gradients as Tensor[])) });
    }
    return read;
  }

  #arrive(sums: HostSum[]): Promise<Float32Array[]> {
    return new Promise((receive) => {
      this.#arrived.push({ sums, receive });
      if (this.#arrived.length < this.ranges.length) return;
      const all = this.#arrived.flatMap((one) => one.sums).sort((a, b) => a.first - b.first);
      const total = addInTree(all);
      const waiting = this.#arrived;
      this.#arrived = [];
      for (const one of waiting) one.receive([total]);
    });
  }
}

/** Several arrays one after another. */
export function flat(arrays: readonly ArrayLike<number>[]): Float32Array {
  return Float32Array.from(arrays.flatMap((array) => Array.from(array)));
}
