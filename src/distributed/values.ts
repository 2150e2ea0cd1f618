/** Values instead of bytes: whatever a structured clone takes, typed arrays with all their bits. */

import { deserialize, serialize } from "../platform/system/structured.ts";
import { allGather, broadcast } from "./collectives.ts";
import type { Communicator } from "./communicator.ts";

/** The value of each rank, in the order of the ranks. All ranks call it. */
export async function gatherValues<Value>(
  communicator: Communicator,
  own: Value,
): Promise<Value[]> {
  const { rank, size } = communicator;
  if (size === 1) return [own];
  const bytes = new Uint8Array(serialize(own));
  const lengths = Array.from({ length: size }, () => new Uint32Array(1));
  lengths[rank][0] = bytes.length;
  await allGather(communicator, lengths.map(({ buffer }) => new Uint8Array(buffer)));
  const perRank = lengths.map(([length], r) => r === rank ? bytes : new Uint8Array(length));
  await allGather(communicator, perRank);
  return perRank.map((bytes, r) => r === rank ? own : deserialize(bytes) as Value);
}

/** The value of each rank, told to `root` alone, in the order of the ranks; null on the others. All ranks call it. */
export async function collectValues<Value>(
  communicator: Communicator,
  own: Value,
  root = 0,
): Promise<Value[] | null> {
  const { rank, size } = communicator;
  if (rank !== root) {
    await sendValue(communicator, own, [root]);
    return null;
  }
  return await Promise.all(
    Array.from(
      { length: size },
      (_, from) => from === rank ? own : receiveValue<Value>(communicator, from),
    ),
  );
}

/** The value of `root`. All ranks call it; the others' own values do not matter. */
export async function broadcastValue<Value>(
  communicator: Communicator,
  own: Value,
  root = 0,
): Promise<Value> {
  const { rank, size } = communicator;
  if (size === 1) return own;
  const bytes = rank === root ? new Uint8Array(serialize(own)) : new Uint8Array();
  const length = Uint32Array.of(bytes.length);
  await broadcast(communicator, new Uint8Array(length.buffer), root);
  const whole = rank === root ? bytes : new Uint8Array(length[0]);
  await broadcast(communicator, whole, root);
  return rank === root ? own : deserialize(whole) as Value;
}

/** Sends a value to other ranks, which call `receiveValue`. */
export async function sendValue<Value>(
  communicator: Communicator,
  value: Value,
  ranks: readonly number[],
): Promise<void> {
  if (ranks.length === 0) return;
  const bytes = new Uint8Array(serialize(value));
  const length = new Uint8Array(Uint32Array.of(bytes.length).buffer);
  await Promise.all(
    ranks.flatMap((to) => [communicator.send(length, to), communicator.send(bytes, to)]),
  );
}

/** The next value that a rank sends to this one by `sendValue`. */
export async function receiveValue<Value>(
  communicator: Communicator,
  from: number,
): Promise<Value> {
  const length = new Uint32Array(1);
  await communicator.receive(new Uint8Array(length.buffer), from);
  const bytes = new Uint8Array(length[0]);
  await communicator.receive(bytes, from);
  return deserialize(bytes) as Value;
}
