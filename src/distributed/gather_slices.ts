import type { Gpu } from "../gpu/gpu.ts";
import type { HostArray, Tensor } from "../gpu/tensor.ts";
import { type Slice, sliceOf, sliceRounds } from "../model/decoder/slices.ts";
import type { Communicator } from "./communicator.ts";
import { InFlight } from "./in_flight.ts";
import { exchangeSteps } from "./exchange_steps.ts";

/** Messages under way at a time. */
export const messagesUnderWay = 4;

/**
 * Makes tensors hold on every process what each slice's owner has in it. The next slice is read from the GPU
 * while the one before is on its way.
 *
 * @param tensors flat, of any type
 */
export async function gatherSlices(
  communicator: Communicator,
  gpu: Gpu,
  tensors: readonly Tensor[],
  slices: readonly Slice[],
): Promise<void> {
  const { rank, size } = communicator;
  const steps = exchangeSteps(communicator);
  const underWay = new InFlight(messagesUnderWay);
  for (const round of sliceRounds(slices, size)) {
    const own = round[rank];
    const bytes = own && bytesOfArray(await gpu.read(sliceOf(tensors, own)));
    for (const { to, from } of steps) {
      await underWay.begin(async () => {
        await Promise.all([
          bytes && communicator.send(bytes, to),
          round[from] && receiveInto(communicator, gpu, sliceOf(tensors, round[from]), from),
        ]);
      });
    }
  }
  await underWay.end();
}

async function receiveInto(
  communicator: Communicator,
  gpu: Gpu,
  slice: Tensor,
  from: number,
): Promise<void> {
  const bytes = new ArrayBuffer(slice.bytes);
  await communicator.receive(new Uint8Array(bytes), from);
  gpu.write(slice, slice.arrayOf(bytes));
}

/** The memory of an array. */
export function bytesOfArray({ buffer, byteOffset, byteLength }: HostArray): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
