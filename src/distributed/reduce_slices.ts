import type { ShardRange, ShardSum } from "../engine/training/reducer.ts";
import { joinShardSums, wholeRanges } from "../engine/training/shard_sums.ts";
import { ownShards } from "../engine/training/shards.ts";
import type { WholeGradients } from "../engine/training/whole_gradients.ts";
import type { Gpu } from "../gpu/gpu.ts";
import type { Tensor } from "../gpu/tensor.ts";
import { add } from "../kernels/products/add.ts";
import { type Slice, sliceOf } from "../model/decoder/slices.ts";
import type { Communicator } from "./communicator.ts";
import { bytesOfArray, messagesUnderWay } from "./gather_slices.ts";
import { InFlight } from "./in_flight.ts";
import { exchangeSteps } from "./exchange_steps.ts";

/** One slice of another process's shard sum. */
interface ReceivedSum extends ShardRange {
  readonly data: Float32Array;
}

/**
 * Makes each process's own slices of `gradients` hold the sum of all shards: each process's shard sums go to the
 * slice's owner, who adds them on the GPU as one process would. Slices leave as they become whole, and the next one is
 * read from the GPU while the one before is on its way.
 *
 * The native engine's waiting blocks the thread until the GPU has done all it was sent: there the messages, and not the
 * reading, overlap with the backward pass.
 */
export async function reduceSlices(
  communicator: Communicator,
  gpu: Gpu,
  gradients: readonly Tensor[],
  shards: number,
  whole: WholeGradients,
): Promise<void> {
  const { rank, size } = communicator;
  const sums = await whole.begun;
  const ranges = Array.from(
    { length: size },
    (_, rank) => wholeRanges(shards, ownShards(shards, { rank, size })),
  );
  const expected = ranges.flat().length - sums.length;
  const steps = exchangeSteps(communicator);
  const underWay = new InFlight(messagesUnderWay);
  for (const round of whole.rounds) {
    const own = round[rank];
    const received: ReceivedSum[] = [];
    const receive = async (from: number) => {
      if (!own) return;
      const elements = own.end - own.first;
      received.push(...await receiveSums(communicator, ranges[from], elements, from));
      whole.expectGoing();
      if (received.length === expected) addSlice(gpu, sums, received, gradients, shards, own);
    };
    await whole.whenWhole(round);
    for (const { to, from } of steps) {
      const theirs = round[to];
      const views = theirs ? sums.map((sum) => sliceOf(sum.gradients, theirs)) : [];
      const read = theirs ? await gpu.readAll(views) as Float32Array[] : [];
      whole.expectGoing();
      await underWay.begin(async () => {
        await Promise.all([
          receive(from),
          ...read.map((data) => communicator.send(bytesOfArray(data), to)),
        ]);
      });
    }
    whole.taken(round);
  }
  await underWay.end();
}
async function receiveSums(
  communicator: Communicator,
  ranges: readonly ShardRange[],
  elements: number,
  from: number,
): Promise<ReceivedSum[]> {
  const sums = ranges.map((range) => ({ ...range, data: new Float32Array(elements) }));
  await Promise.all(sums.map(({ data }) => communicator.receive(bytesOfArray(data), from)));
  return sums;
}

/** Adds up one slice, over the tree of all shards. */
function addSlice(
  gpu: Gpu,
  sums: readonly ShardSum[],
  received: readonly ReceivedSum[],
  gradients: readonly Tensor[],
  shards: number,
  slice: Slice,
): void {
  gpu.scope(() => {
    const all = [
      ...sums.map(({ first, end, gradients }) => ({ first, end, sum: sliceOf(gradients, slice) })),
      ...received.map(({ first, end, data }) => ({
        first,
        end,
        sum: gpu.from(data, [data.length], "f32", "shard sum of another process"),
      })),
    ];
    const whole = joinShardSums(shards, all, (left, right) => {
      add(gpu, left.sum, right.sum);
      return { first: left.first, end: right.end, sum: right.sum };
    });
    const target = sliceOf(gradients, slice);
    if (whole.sum.storage !== target.storage) gpu.copy(whole.sum, target);
  });
}
