/** Collective operations, made of sending and receiving: every rank of the communicator calls them. */

import type { Communicator } from "./communicator.ts";

/**
 * Every rank receives what `root` has, over a binomial tree: log2(size) messages one after another.
 *
 * @param bytes of the same length on all ranks; overwritten on all but `root`
 */
export async function broadcast(
  communicator: Communicator,
  bytes: Uint8Array,
  root = 0,
): Promise<void> {
  const { rank, size } = communicator;
  const place = (rank - root + size) % size;
  const rankAt = (place: number) => (place + root) % size;
  let reach = 1;
  while (reach < size) reach *= 2;
  for (reach /= 2; reach >= 1; reach /= 2) {
    if (place % (2 * reach) === reach) await communicator.receive(bytes, rankAt(place - reach));
    if (place % (2 * reach) === 0 && place + reach < size) {
      await communicator.send(bytes, rankAt(place + reach));
    }
  }
}

/**
 * Every rank receives what each of them has. Each pair exchanges directly.
 *
 * @param perRank the bytes of each rank, of lengths that all ranks know; those of the others are overwritten
 */
export async function allGather(
  communicator: Communicator,
  perRank: readonly Uint8Array[],
): Promise<void> {
  const { rank, size } = communicator;
  for (let distance = 1; distance < size; distance++) {
    const to = (rank + distance) % size, from = (rank - distance + size) % size;
    await Promise.all([
      perRank[rank].length > 0 ? communicator.send(perRank[rank], to) : null,
      perRank[from].length > 0 ? communicator.receive(perRank[from], from) : null,
    ]);
  }
}

/** Returns when all ranks have called it. */
export async function barrier(communicator: Communicator): Promise<void> {
  const { rank, size } = communicator;
  for (let distance = 1; distance < size; distance *= 2) {
    await Promise.all([
      communicator.send(new Uint8Array(1), (rank + distance) % size),
      communicator.receive(new Uint8Array(1), (rank - distance + size) % size),
    ]);
  }
}
