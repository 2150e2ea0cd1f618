/** Work that is done once for all ranks, and whose results all of them have. All ranks call it. */

import { divideEvenly } from "../engine/training/divide_evenly.ts";
import type { Communicator } from "./communicator.ts";
import type { Placed } from "./placed.ts";
import { gatherOutcomes } from "./outcomes.ts";
import { gatherValues } from "./values.ts";

/** The shares of some ranks: which items each works on, by their places, so that each has about as much to do. */
export function sharesOf<Item>(
  ranks: readonly number[],
  items: readonly Item[],
  lengthOf: (item: Item) => number,
): number[][] {
  return divideEvenly([...items.keys()], (i) => lengthOf(items[i]), ranks.length);
}

/**
 * Cuts items over the ranks that hold a thing, so that each has about as much to do; who does which depends
 * on the items alone. What is found must be what a structured clone takes.
 *
 * @param lengthOf how much an item takes, in whatever unit
 * @param work finds something for each of a rank's items, of which there may be none
 * @returns what was found for all items, in their order, on all ranks
 */
export async function shareOut<Thing, Item, Found>(
  { all, ranks, here }: Placed<Thing>,
  items: readonly Item[],
  lengthOf: (item: Item) => number,
  work: (thing: Thing, own: readonly Item[]) => Promise<readonly Found[]>,
): Promise<Found[]> {
  const shares = sharesOf(ranks, items, lengthOf);
  const gathered = await gatherOutcomes(all, async () => {
    if (here === null) return [];
    return await work(here, shares[ranks.indexOf(all.rank)].map((i) => items[i]));
  });
  const found = new Array<Found>(items.length);
  shares.forEach((share, s) => share.forEach((i, place) => found[i] = gathered[ranks[s]][place]));
  return found;
}

/**
 * Lets all ranks that hold a thing do the same with it, together, and tells the others what came of it.
 *
 * @param meanwhile what the others do
 */
export async function onHolders<Thing, Result>(
  { all, ranks, here }: Placed<Thing>,
  body: (thing: Thing) => Promise<Result>,
  meanwhile: () => Promise<void> = () => Promise.resolve(),
): Promise<Result> {
  const results = await gatherOutcomes<Result | null>(all, async () => {
    if (here !== null) return await body(here);
    await meanwhile();
    return null;
  });
  return results[ranks[0]] as Result;
}

/** Whether all ranks say yes. */
export async function allAgree(all: Communicator, own: boolean): Promise<boolean> {
  return (await gatherValues(all, own)).every(Boolean);
}
