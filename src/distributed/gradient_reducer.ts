import { Failure } from "../base/failure.ts";
import type { Reducer } from "../engine/training/reducer.ts";
import { allGather } from "./collectives.ts";
import type { Communicator } from "./communicator.ts";
import { gatherSlices } from "./gather_slices.ts";
import { reduceSlices } from "./reduce_slices.ts";
import { gatherValues } from "./values.ts";

/**
 * What the trainers of several processes do together, over a communicator. One communicator serves any number
 * of models, as long as all processes train them in the same order and send nothing else on its channel.
 */
export function gradientReducer(communicator: Communicator): Reducer {
  const { rank, size } = communicator;
  return {
    rank,
    size,
    together: (task) => together(communicator, task),
    gather: (parts) => allGather(communicator, parts),
    reduce: (...sums) => reduceSlices(communicator, ...sums),
    gatherSlices: (...tensors) => gatherSlices(communicator, ...tensors),
    bringToFirst: (bytes, owner) =>
      rank === 0 ? communicator.receive(bytes, owner) : communicator.send(bytes, 0),
  };
}

async function together<Result>(
  communicator: Communicator,
  task: () => Promise<Result>,
): Promise<Result> {
  const [outcome] = await Promise.allSettled([task()]);
  if (outcome.status === "rejected") {
    const { reason } = outcome;
    // That the others could not be told matters less than what there was to tell.
    await findFailure(communicator, reason?.message ?? String(reason)).catch(() => {});
    throw reason;
  }
  const failure = await findFailure(communicator, null);
  if (failure) throw new Failure(failure);
  return outcome.value;
}

/** What went wrong on the first rank on which something did; null when nothing did. */
async function findFailure(
  communicator: Communicator,
  own: string | null,
): Promise<string | null> {
  const { rank, size } = communicator;
  const hasFailed = Array.from({ length: size }, () => new Uint8Array(1));
  hasFailed[rank][0] = own === null ? 0 : 1;
  await allGather(communicator, hasFailed);
  if (hasFailed.every(([failed]) => failed === 0)) return null;
  const messages = await gatherValues(communicator, own);
  const failed = messages.findIndex((message) => message !== null);
  return `Rank ${failed} of ${size} failed: ${messages[failed]}`;
}
