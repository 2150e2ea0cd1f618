import type { Uniform } from "../task.ts";

/** How the records of a data set follow each other over the epochs. */
export interface RecordOrder {
  /** Number of records. */
  readonly count: number;
  /** Place in the data set of the record at a position; positions count from 0 on over all epochs. */
  indexAt(position: number): number;
  /** The epoch that a position lies in, from 0. */
  epochOf(position: number): number;
}

/**
 * A new order of the records in every epoch, in which each comes once. What is at a position depends on
 * nothing but the position and the random numbers of its epoch, so a run that goes on from a position sees
 * what it would have seen.
 *
 * `uniformOfEpoch` gives the random numbers of an epoch and must give the same ones whenever it is asked.
 * Throws a RangeError when `count` or a position is not a whole number, or there is no record.
 */
export function shuffledOrder(
  count: number,
  uniformOfEpoch: (epoch: number) => Uniform,
): RecordOrder {
  let cached = { epoch: -1, order: new Uint32Array() };
  return orderOf(count, (epoch, place) => {
    if (cached.epoch !== epoch) cached = { epoch, order: shuffle(count, uniformOfEpoch(epoch)) };
    return cached.order[place];
  });
}

/** The order of the files, again in every epoch. Throws as `shuffledOrder` does. */
export function fileOrder(count: number): RecordOrder {
  return orderOf(count, (_, place) => place);
}

function orderOf(count: number, indexIn: (epoch: number, place: number) => number): RecordOrder {
  if (!Number.isInteger(count) || count < 1) {
    throw new RangeError(`count: found ${count}, expected a whole number from 1 up`);
  }
  const epochOf = (position: number) => {
    if (Number.isSafeInteger(position) && position >= 0) return Math.floor(position / count);
    throw new RangeError(`position: found ${position}, expected a whole number from 0 up`);
  };
  return { count, epochOf, indexAt: (position) => indexIn(epochOf(position), position % count) };
}

/** The numbers from 0 to count - 1 in an order of which all are equally likely (Fisher and Yates). */
function shuffle(count: number, uniform: Uniform): Uint32Array<ArrayBuffer> {
  const order = Uint32Array.from({ length: count }, (_, index) => index);
  for (let last = count - 1; last > 0; last--) {
    const chosen = Math.floor(uniform() * (last + 1));
    const kept = order[last];
    order[last] = order[chosen];
    order[chosen] = kept;
  }
  return order;
}

/**
 * As `shuffledOrder`, but of the n records of one weight w each epoch takes round(n · w), at least one: the next ones in
 * an order of their own, which goes on from epoch to epoch, so that none comes more often than another of its weight.
 * Where `uniformOf` is null, the order of the files.
 *
 * `uniformOf` gives the random numbers of an epoch: of group 0 those that mix it, of group 1 and further those of the
 * records of a weight, for epochs of their own. Throws as `shuffledOrder` does.
 */
export function weightedOrder(
  weights: readonly number[],
  uniformOf: ((epoch: number, group: number) => Uniform) | null,
): RecordOrder {
  const indices = weights.map((_, index) => index);
  const groups = [...Map.groupBy(indices, (index) => weights[index])].map((
    [weight, members],
    g,
  ) => ({
    members,
    drawn: Math.max(1, Math.round(weight * members.length)),
    order: uniformOf === null
      ? fileOrder(members.length)
      : shuffledOrder(members.length, (epoch) => uniformOf(epoch, g + 1)),
  }));
  const count = groups.reduce((sum, { drawn }) => sum + drawn, 0);
  const made = (epoch: number) => {
    const drawn = groups.flatMap(({ members, drawn, order }) =>
      Array.from({ length: drawn }, (_, i) => members[order.indexAt(epoch * drawn + i)])
    );
    return uniformOf === null
      ? drawn
      : Array.from(shuffle(count, uniformOf(epoch, 0)), (place) => drawn[place]);
  };
  let cached: { readonly epoch: number; readonly order: readonly number[] } = {
    epoch: -1,
    order: [],
  };
  return orderOf(count, (epoch, place) => {
    if (cached.epoch !== epoch) cached = { epoch, order: made(epoch) };
    return cached.order[place];
  });
}
