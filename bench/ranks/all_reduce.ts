/**
 * How fast ranks bring a gradient together, beside the MPI library's own all-reduce. Start it with the launcher
 * of an MPI library:
 *
 *     mpiexec -n 2 deno run -A bench/ranks/all_reduce.ts --gigabytes 1 --rounds 3
 *
 * Prints GB of gradient per second: of the reduce-scatter and all-gather that training makes, with its reads from
 * the GPU, its sums there and its writes; of these alone; of the same messages without them; of MPI_Allreduce, which
 * blocks.
 */

import { parseArgs } from "node:util";
import { barrier } from "../../src/distributed/collectives.ts";
import type { Communicator } from "../../src/distributed/communicator.ts";
import { gradientReducer } from "../../src/distributed/gradient_reducer.ts";
import { messagesUnderWay } from "../../src/distributed/gather_slices.ts";
import { InFlight } from "../../src/distributed/in_flight.ts";
import { openCommunicator } from "../../src/distributed/open_communicator.ts";
import { rehearsedRank } from "../../src/distributed/rehearsed_rank.ts";
import { exchangeSteps } from "../../src/distributed/exchange_steps.ts";
import { gatherValues } from "../../src/distributed/values.ts";
import { ownShards } from "../../src/engine/training/shards.ts";
import { WholeGradients } from "../../src/engine/training/whole_gradients.ts";
import { Gpu } from "../../src/gpu/gpu.ts";
import type { EngineName } from "../../src/gpu/adapter.ts";
import { pieceBytes } from "../../src/gpu/tensor_pieces.ts";
import type { Tensor } from "../../src/gpu/tensor.ts";
import { END } from "../../src/model/decoder/gradient_order.ts";
import { cutIntoSlices, type Slice, sliceRounds } from "../../src/model/decoder/slices.ts";
import { mpiAllReduce } from "./mpi_all_reduce.ts";

const { values: options } = parseArgs({
  args: Deno.args,
  options: {
    gigabytes: { type: "string", default: "1" },
    rounds: { type: "string", default: "3" },
    gpu: { type: "string", default: "native" },
  },
});
const ranks = await openCommunicator();
const { communicator, library, places } = ranks;
const gpu = await Gpu.open(options.gpu as EngineName);
const gradients = flatTensors(gpu, Number(options.gigabytes) * 1e9);
const bytes = gradients.reduce((sum, tensor) => sum + tensor.bytes, 0);
const slices = cutIntoSlices(gradients.map(({ size }) => size), communicator.size);

if (communicator.rank === 0) {
  console.log(
    `${communicator.size} ranks on ${new Set(places.map(({ host }) => host)).size} hosts · ` +
      `${library} · ${gpu.info.name} · ${gpu.info.engine} · ${(bytes / 1e9).toFixed(2)} GB`,
  );
}
await measure("reduce-scatter and all-gather of GPU memory", () => ofGpuMemory(communicator));
await measure("the GPU's part of it alone", () => ofGpuMemory(rehearsedRank(communicator)));
await measure("the same messages from host memory", () => ofHostMemory());
const allReduce = mpiAllReduce(bytes / 4);
await measure("MPI_Allreduce", () => Promise.resolve(allReduce()));
await ranks.close();
Deno.exit(0);

/** Several, each as long as the device binds. */
function flatTensors(gpu: Gpu, bytes: number): Tensor[] {
  const most = Math.min(2 ** 30, gpu.device.limits.maxStorageBufferBindingSize) / 4;
  const tensors: Tensor[] = [];
  for (let left = Math.ceil(bytes / 256) * 64; left > 0; left -= most) {
    tensors.push(gpu.zeros([Math.min(left, most)], "f32", "gradients"));
  }
  return tensors;
}

/** What training does between the last backward pass and the next forward pass. */
async function ofGpuMemory(communicator: Communicator): Promise<void> {
  const reducer = gradientReducer(communicator);
  const { size } = communicator;
  const own = ownShards(size, communicator);
  const whole = new WholeGradients(new Map(slices.map((slice) => [slice, END])), size);
  await reducer.reduce(gpu, gradients, size, whole, () => {
    whole.begin([{ ...own, gradients }], () => {});
    return whole.end();
  });
  await reducer.gatherSlices(gpu, gradients, slices);
  await gpu.finish();
}

async function ofHostMemory(): Promise<void> {
  const { size, rank } = communicator;
  const pool = Array.from({ length: 4 * messagesUnderWay }, () => new Uint8Array(pieceBytes));
  const bytesFor = ({ first, end }: Slice) => {
    const bytes = pool.shift() ?? new Uint8Array();
    pool.push(bytes);
    return bytes.subarray(0, 4 * (end - first));
  };
  for (const isSum of [true, false]) {
    const underWay = new InFlight(messagesUnderWay);
    for (const round of sliceRounds(slices, size)) {
      for (const { to, from } of exchangeSteps(communicator)) {
        const sent = round[isSum ? to : rank], received = round[isSum ? rank : from];
        await underWay.begin(async () => {
          await Promise.all([
            sent && communicator.send(bytesFor(sent), to),
            received && communicator.receive(bytesFor(received), from),
          ]);
        });
      }
    }
    await underWay.end();
  }
}

/** Prints the rate of the slowest rank in each round. */
async function measure(what: string, run: () => Promise<void>): Promise<void> {
  const rates: number[] = [];
  for (let round = 0; round < Number(options.rounds); round++) {
    await barrier(communicator);
    const start = performance.now();
    await run();
    const seconds = (performance.now() - start) / 1000;
    rates.push(bytes / 1e9 / Math.max(...await gatherValues(communicator, seconds)));
  }
  if (communicator.rank !== 0) return;
  console.log(`${what}: ${rates.map((rate) => rate.toFixed(2)).join(", ")} GB/s`);
}
