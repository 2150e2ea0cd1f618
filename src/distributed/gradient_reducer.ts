import type { Reducer } from "../engine/training/reducer.ts";
import { allGather } from "./collectives.ts";
import type { Communicator } from "./communicator.ts";
import { gatherSlices } from "./gather_slices.ts";
import { failureOf, type Outcome, valueOf } from "./outcomes.ts";
import { reduceSlices } from "./reduce_slices.ts";
import { reduceTogether } from "./reduce_together.ts";
import { gatherValues } from "./values.ts";

/** Channels of reductions, two for each: a reduction that failed leaves messages behind in its own. */
const FIRST_CHANNEL = 100, CHANNELS = 1000;

/**
 * The reducer of trainers in several processes, over a communicator. One communicator serves any number
 * of models, as long as all processes train them in the same order and send nothing else on its channel.
 */
export function gradientReducer(communicator: Communicator): Reducer {
  const { rank, size } = communicator;
  let reductions = 0;
  return {
    rank,
    size,
    together: (task) => together(communicator, task),
    gather: (perProcess) => allGather(communicator, perProcess),
    reduce: (gpu, gradients, shards, whole, compute) => {
      if (size === 1) return compute();
      const first = FIRST_CHANNEL + 2 * (reductions++ % (CHANNELS / 2));
      const channels = {
        gradients: communicator.channel(first),
        failures: communicator.channel(first + 1),
      };
      return reduceTogether(
        channels,
        whole,
        compute,
        (over) => reduceSlices(over, gpu, gradients, shards, whole),
      );
    },
    gatherSlices: (...tensors) => gatherSlices(communicator, ...tensors),
    bringToFirst: (bytes, owner) =>
      rank === 0 ? communicator.receive(bytes, owner) : communicator.send(bytes, 0),
  };
}

async function together<Result>(
  communicator: Communicator,
  task: () => Promise<Result>,
): Promise<Result> {
  const [settled] = await Promise.allSettled([task()]);
  if (settled.status === "rejected") {
    // An error while telling the others matters less than the one to tell.
    await failTogether(communicator, failureOf(settled.reason)).catch(() => {});
    throw settled.reason;
  }
  await failTogether(communicator, { value: null });
  return settled.value;
}

/** @throws what went wrong on the first rank on which something did */
async function failTogether(communicator: Communicator, own: Outcome<null>): Promise<void> {
  const hasFailed = Array.from({ length: communicator.size }, () => new Uint8Array(1));
  hasFailed[communicator.rank][0] = "value" in own ? 0 : 1;
  await allGather(communicator, hasFailed);
  if (hasFailed.every(([failed]) => failed === 0)) return;
  const outcomes = await gatherValues(communicator, own);
  outcomes.forEach((outcome, rank) => valueOf(outcome, rank, communicator));
}
