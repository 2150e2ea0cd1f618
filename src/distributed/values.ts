/** Values instead of bytes: whatever a structured clone takes, typed arrays with all their bits. */

import { deserialize, serialize } from "node:v8";
import { allGather, broadcast } from "./collectives.ts";
import type { Communicator } from "./communicator.ts";

/** What each rank has, in the order of the ranks. All ranks call it. */
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
  const parts = lengths.map(([length], r) => r === rank ? bytes : new Uint8Array(length));
  await allGather(communicator, parts);
  return parts.map((part, r) => r === rank ? own : deserialize(part) as Value);
}

/** What `root` has. All ranks call it; what the others give does not matter. */
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
